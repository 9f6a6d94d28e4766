package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// image makes the root file system of the image, and an archive of it that `docker load` and `podman load` take.
func (r *release) image(b binary) error {
	if b.os != "linux" {
		return fmt.Errorf("an image is for Linux")
	}
	how, err := r.dockerfile()
	if err != nil {
		return err
	}
	files, err := r.read("usr/share/doc/ypcrawl/LICENSE", "LICENSE", "usr/share/doc/ypcrawl/NOTICE", "NOTICE")
	if err != nil {
		return err
	}
	zones, err := r.zones()
	if err != nil {
		return err
	}
	uid, _, _ := strings.Cut(how.User, ":")
	user, err := strconv.Atoi(uid)
	if err != nil {
		return fmt.Errorf("USER of the Dockerfile: want numbers: %w", err)
	}
	files = append(append(files, zones...),
		file{name: "usr/bin/ypcrawl", mode: 0o755, data: b.data},
		file{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots()},
		file{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0::/:/sbin/nologin\nypcrawl:x:%s::%s:/sbin/nologin\n", how.User, how.WorkingDir)},
		file{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nypcrawl:x:%d:\n", user)},
		file{name: "tmp/", mode: 0o1777},
		file{name: strings.TrimPrefix(how.WorkingDir, "/") + "/", mode: 0o750, owner: user})
	layer, err := tarred(files, b.time)
	if err != nil {
		return err
	}
	r.files["image/rootfs_"+b.arch+".tar"] = layer
	return r.loadable(b, how, layer)
}

// roots are the CA certificates that Mozilla trusts, as a pinned module of the Go project has them.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
	}
	return b.Bytes()
}

// zones are the time zones that come with Go.
func (r *release) zones() (files []file, err error) {
	root, err := r.command(nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	z, err := zip.OpenReader(filepath.Join(strings.TrimSpace(root), "lib/time/zoneinfo.zip"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = z.Close() }()
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "usr/share/zoneinfo/" + f.Name, mode: 0o644, data: data})
	}
	return files, nil
}

// start is how a container starts, in the words of the OCI image specification.
type start struct {
	User       string
	Env        []string
	Entrypoint []string
	Volumes    map[string]struct{}
	WorkingDir string
}

// dockerfile reads how a container starts from the Dockerfile, where it is written.
func (r *release) dockerfile() (s start, err error) {
	text, err := r.read("Dockerfile", "Dockerfile")
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(text[0].data)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "USER":
			s.User = rest
		case "ENV":
			s.Env = append(s.Env, rest)
		case "WORKDIR":
			s.WorkingDir = rest
		case "VOLUME":
			s.Volumes = map[string]struct{}{rest: {}}
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &s.Entrypoint)
		}
	}
	if err == nil && (s.User == "" || s.WorkingDir == "" || s.Entrypoint == nil) {
		err = fmt.Errorf("the Dockerfile names no USER, WORKDIR or ENTRYPOINT")
	}
	return s, err
}

// descriptor names a blob of an image.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

// loadable writes an image layout of OCI with the manifest that older versions of docker read.
func (r *release) loadable(b binary, how start, layer []byte) error {
	var files []file
	var failed error
	blob := func(mediaType string, data []byte) descriptor {
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		files = append(files, file{name: "blobs/sha256/" + sum, mode: 0o644, data: data})
		return descriptor{"application/vnd.oci.image." + mediaType, "sha256:" + sum, len(data)}
	}
	text := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			failed = err
		}
		return data
	}
	type object = map[string]any
	packed, err := gzipped(layer)
	if err != nil {
		return err
	}
	fs := blob("layer.v1.tar+gzip", packed)
	platform := object{"os": b.os, "architecture": b.arch}
	config := object{
		"created": b.time.Format(time.RFC3339), "os": b.os, "architecture": b.arch, "config": how,
		"rootfs": object{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	}
	if b.arm != "" {
		platform["variant"], config["variant"] = "v"+b.arm, "v"+b.arm
	}
	configured := blob("config.v1+json", text(config))
	manifest := blob("manifest.v1+json", text(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": configured, "layers": []descriptor{fs},
	}))
	// Who reads index.json reads no other names, so each stands there.
	tags := []string{strings.ReplaceAll(b.version, "+", "-"), "latest"}
	names, manifests := make([]string, len(tags)), make([]object, len(tags))
	for i, tag := range tags {
		names[i] = "ypcrawl:" + tag
		manifests[i] = object{
			"mediaType": manifest.MediaType, "digest": manifest.Digest, "size": manifest.Size, "platform": platform,
			"annotations": object{"io.containerd.image.name": "docker.io/library/ypcrawl:" + tag, "org.opencontainers.image.ref.name": tag},
		}
	}
	files = append(files,
		file{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		file{name: "index.json", mode: 0o644, data: text(object{"schemaVersion": 2, "manifests": manifests})},
		file{name: "manifest.json", mode: 0o644, data: text([]object{{
			"Config": files[1].name, "RepoTags": names, "Layers": []string{files[0].name},
		}})})
	if failed != nil {
		return failed
	}
	data, err := tarred(files, b.time)
	r.files["image/ypcrawl_"+b.version+"_image_"+b.arch+".tar"] = data
	return err
}
