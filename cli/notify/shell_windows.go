package notify

import (
	"context"
	"os/exec"
	"syscall"
)

// shell is a command of cmd.exe, which is killed when ctx ends; what it has started is not.
func shell(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `/S /C "` + line + `"`}
	return cmd
}
