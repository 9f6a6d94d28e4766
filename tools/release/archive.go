package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"path"
	"slices"
	"strings"
	"time"
)

// archive makes the archive of a platform: all in one folder.
func (r *release) archive(b binary) error {
	folder := "ypcrawl_" + b.version + "_" + b.String()
	files, err := r.read(
		"README.md", "README.md", "CHANGELOG.md", "CHANGELOG.md", "LICENSE", "LICENSE", "NOTICE", "NOTICE", "ypcrawl.1", "docs/ypcrawl.1",
		"completions/ypcrawl.bash", "cli/completion/ypcrawl.bash", "completions/ypcrawl.fish", "cli/completion/ypcrawl.fish",
		"completions/_ypcrawl", "cli/completion/ypcrawl.zsh")
	if err != nil {
		return err
	}
	program := "ypcrawl"
	if b.os == "windows" {
		program += ".exe"
	}
	files = append(files, file{name: program, mode: 0o755, data: b.data})
	for i := range files {
		files[i].name = path.Join(folder, files[i].name)
	}
	if b.os == "windows" {
		data, err := zipped(files, b.time)
		r.files["release/"+folder+".zip"] = data
		return err
	}
	data, err := tarred(files, b.time)
	if err != nil {
		return err
	}
	r.files["release/"+folder+".tar.gz"], err = gzipped(data)
	return err
}

// tarred is a tar of files.
func tarred(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: at, Typeflag: tar.TypeReg, Uid: f.owner, Gid: f.owner}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func zipped(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		part, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}
