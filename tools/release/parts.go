package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// component is a part of a program, in the words of CycloneDX.
type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Purl     string    `json:"purl"`
	Licenses []license `json:"licenses,omitempty"`
	Hashes   []hash    `json:"hashes,omitempty"`
}

type license struct {
	Expression string `json:"expression"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type bom struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	} `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// licensed is a line of NOTICE: a module and its licence.
var licensed = regexp.MustCompile(`(?m)^([a-z][^ ]*/[^ ]*) \((.*)\)$`)

// parts makes the list of modules that a binary holds (SBOM, CycloneDX 1.6), from what Go wrote into it
// and the licences in NOTICE.
func (r *release) parts(b binary) error {
	notice, err := r.read("NOTICE", "NOTICE")
	if err != nil {
		return err
	}
	licenses := map[string]string{}
	for _, m := range licensed.FindAllStringSubmatch(string(notice[0].data), -1) {
		licenses[m[1]] = strings.ReplaceAll(m[2], " and ", " AND ")
	}
	l := bom{Format: "CycloneDX", Spec: "1.6", Version: 1}
	main := part("application", b.info.Main.Path, b.info.Main.Version, "MIT")
	main.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(b.data))}}
	l.Metadata.Timestamp, l.Metadata.Component = b.time.Format(time.RFC3339), main
	all := append([]*debug.Module{{Path: "std", Version: b.info.GoVersion}}, b.info.Deps...)
	licenses["std"] = "BSD-3-Clause"
	on := dependency{Ref: main.Ref}
	for _, m := range all {
		if m.Replace != nil {
			m = m.Replace
		}
		if licenses[m.Path] == "" {
			return fmt.Errorf("NOTICE names no licence of %s", m.Path)
		}
		c := part("library", m.Path, m.Version, licenses[m.Path])
		l.Components, on.On = append(l.Components, c), append(on.On, c.Ref)
	}
	l.Dependencies = []dependency{on}
	data, err := json.MarshalIndent(l, "", "  ")
	r.files["release/ypcrawl_"+b.version+"_"+b.String()+".cdx.json"] = append(data, '\n')
	return err
}

func part(kind, path, version, spdx string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: kind, Ref: purl, Name: path, Version: version, Purl: purl, Licenses: []license{{spdx}}}
}
