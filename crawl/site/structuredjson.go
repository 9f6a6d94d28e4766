package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	nethtml "golang.org/x/net/html"
)

// ldScripts returns the contents of a tree's JSON-LD scripts, whose type may
// carry a parameter, such as a charset.
func ldScripts(n *nethtml.Node, found []string) []string {
	if n.Type == nethtml.ElementNode && n.Data == "script" {
		typ, _, _ := strings.Cut(attrOf(n, "type"), ";")
		if isJSONLD(typ) && n.FirstChild != nil && len(found) < maxScripts {
			found = append(found, n.FirstChild.Data)
		}
		return found
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		found = ldScripts(c, found)
	}
	return found
}

// addScripts reads JSON-LD scripts. One that is damaged beyond repair is
// passed over.
func (g *graph) addScripts(scripts []string) {
	for _, script := range scripts {
		for _, root := range decodeLD(script) {
			g.top = append(g.top, g.fromJSON(root, 0)...)
		}
	}
}

// decodeLD decodes a script, which may hold several roots. It returns none of
// them when any is damaged.
func decodeLD(script string) []any {
	if len(script) > maxScript {
		return nil
	}
	if roots, err := decodeRoots(script); err == nil {
		return roots
	}
	if strings.Contains(script, "&quot;") && !strings.Contains(script, `"`) {
		if script = html.UnescapeString(script); len(script) > maxScript {
			return nil
		}
	}
	roots, err := decodeRoots(script)
	if err != nil {
		return nil
	}
	return roots
}

// maxRoots bounds the values that one script may hold side by side.
const maxRoots = 1000

func decodeRoots(script string) ([]any, error) {
	text, ok := tidyJSON(script)
	if !ok {
		return nil, errLDBounds
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var roots []any
	for len(roots) < maxRoots {
		var v any
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		roots = append(roots, v)
	}
	return roots, nil
}

// fromJSON turns decoded JSON into values. Lists are flat in JSON-LD: a list
// in a list adds nothing.
func (g *graph) fromJSON(v any, depth int) []value {
	switch v := v.(type) {
	case map[string]any:
		return g.fromObject(v, depth)
	case []any:
		var out []value
		for _, e := range v {
			out = append(out, g.fromJSON(e, depth+1)...)
		}
		return out
	case string:
		return []value{{text: v}}
	case json.Number:
		return []value{{text: v.String()}}
	case bool:
		return []value{{text: strconv.FormatBool(v)}}
	}
	return nil
}

func (g *graph) fromObject(m map[string]any, depth int) []value {
	for _, wrapper := range [...]string{"@value", "@list", "@set"} {
		if in, ok := m[wrapper]; ok {
			return g.fromJSON(in, depth+1)
		}
	}
	it := g.newItem()
	if it == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(m)) { // in an order that is always the same
		switch key {
		case "@type", "type":
			it.types = append(it.types, wordsOf(m[key])...)
		case "@id":
			it.id, _ = m[key].(string)
		case "@context":
		default:
			for _, v := range g.fromJSON(m[key], depth+1) {
				it.add(schemaWord(key), v)
			}
		}
	}
	g.register(it)
	return []value{{item: it}}
}

// wordsOf returns the words of a type: a text, several in one text, or a list.
func wordsOf(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		for w := range strings.FieldsSeq(v) {
			out = append(out, schemaWord(w))
		}
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, wordsOf(s)...)
			}
		}
	}
	return out[:min(len(out), maxValues)]
}
