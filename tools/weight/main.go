// Command weight says what each module weighs in a binary for Linux that still has its symbols.
//
//	go -C tools run ./weight ../dist/weight
package main

import (
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "weight: want the path of one binary")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "weight:", err)
		os.Exit(1)
	}
}

// weight is in bytes of the file.
type weight struct{ code, data, tables uint64 }

func (w weight) sum() uint64 { return w.code + w.data + w.tables }

func run(path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("%w: build it without -ldflags -s", err)
	}
	var total, tables, code, named uint64
	for _, s := range f.Sections {
		switch {
		case s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS: // not in a stripped file
		case s.Name == ".gopclntab":
			tables = s.Size
			fallthrough
		default:
			total += s.Size
		}
	}
	weights := map[string]weight{}
	for _, s := range symbols {
		if int(s.Section) >= len(f.Sections) || elf.ST_TYPE(s.Info) == elf.STT_SECTION {
			continue
		}
		section := f.Sections[s.Section]
		if section.Type == elf.SHT_NOBITS || section.Flags&elf.SHF_ALLOC == 0 || section.Name == ".gopclntab" {
			continue
		}
		part := partOf(s.Name, info)
		w := weights[part]
		if named += s.Size; section.Flags&elf.SHF_EXECINSTR != 0 {
			w.code += s.Size
			code += s.Size
		} else {
			w.data += s.Size
		}
		weights[part] = w
	}
	for part, w := range weights {
		w.tables = uint64(float64(tables) * float64(w.code) / float64(code))
		weights[part] = w
	}
	w := weights[shared]
	w.data += total - tables - named
	weights[shared] = w
	fmt.Println("| module | bytes | share | code | data | tables of functions |\n|---|---:|---:|---:|---:|---:|")
	rest := weight{}
	row := func(name string, w weight) {
		fmt.Printf("| %s | %d | %.1f %% | %d | %d | %d |\n", name, w.sum(), float64(w.sum())*100/float64(total), w.code, w.data, w.tables)
	}
	for _, part := range slices.SortedFunc(maps.Keys(weights), func(a, b string) int { return cmp.Compare(weights[b].sum(), weights[a].sum()) }) {
		if w := weights[part]; w.sum() >= 100_000 {
			row(part, w)
		} else {
			rest = weight{rest.code + w.code, rest.data + w.data, rest.tables + w.tables}
		}
	}
	row("modules below 100,000 bytes", rest)
	fmt.Printf("| **all that a stripped file loads** | **%d** | | | | |\n", total)
	return nil
}

// shared is what no symbol names, or what Go keeps once for all.
const shared = "types, strings, embedded files (nothing says whose)"

// partOf is the module that a symbol belongs to.
func partOf(symbol string, info *buildinfo.BuildInfo) string {
	if rest, of := strings.CutPrefix(symbol, "type:.eq."); of {
		symbol = rest
	}
	symbol = strings.ReplaceAll(symbol, "%2e", ".")
	if symbol == "main" || strings.HasPrefix(symbol, "main.") || strings.HasPrefix(symbol, info.Main.Path+"/") {
		return info.Main.Path
	}
	best := ""
	for _, m := range info.Deps {
		if strings.HasPrefix(symbol, m.Path) && len(m.Path) > len(best) {
			best = m.Path
		}
	}
	switch {
	case best != "":
		return best
	case strings.HasPrefix(symbol, "go:") || strings.HasPrefix(symbol, "type:"):
		return shared
	default:
		return "Go's standard library"
	}
}
