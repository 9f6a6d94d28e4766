package selftest

import (
	"fmt"

	"golang.org/x/sys/unix"
)

var magics = map[uint32]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", 0x2fc12fc1: "zfs", 0xca451a4e: "bcachefs",
	unix.F2FS_SUPER_MAGIC: "f2fs", unix.MSDOS_SUPER_MAGIC: "vfat", unix.EXFAT_SUPER_MAGIC: "exfat", 0x7366746e: "ntfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.FUSE_SUPER_MAGIC: "fuse",
	unix.NFS_SUPER_MAGIC: "nfs", unix.SMB_SUPER_MAGIC: "smb", unix.SMB2_SUPER_MAGIC: "smb", unix.CIFS_SUPER_MAGIC: "cifs",
	unix.V9FS_MAGIC: "9p", unix.CEPH_SUPER_MAGIC: "ceph",
}

// fileSystem names that of a folder, and what is known against it.
func fileSystem(dir string) (name, doubt string) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", ""
	}
	magic := uint32(st.Type) //nolint:gosec // the types differ by system; all magics have 32 bits
	name, ok := magics[magic]
	if !ok {
		name = fmt.Sprintf("%#x", magic)
	}
	return name, doubtOf(name)
}
