package jsondoc

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// node is a value as encoding/json's tokens tell it.
type node struct {
	kind  Kind
	text  string
	names []string // of members, each once
	items []*node
}

// read makes a node of the tokens that come next.
func read(d *json.Decoder) *node {
	token, err := d.Token()
	if err != nil {
		panic(err)
	}
	switch v := token.(type) {
	case nil:
		return &node{kind: Null}
	case bool:
		return &node{kind: Bool, text: strconv.FormatBool(v)}
	case json.Number:
		return &node{kind: Number, text: v.String()}
	case string:
		return &node{kind: String, text: v}
	case json.Delim:
		return readNested(d, v == '{')
	}
	panic(token)
}

func readNested(d *json.Decoder, object bool) *node {
	n := &node{kind: Array}
	if object {
		n.kind = Object
	}
	for d.More() {
		name := ""
		if object {
			name = read(d).text
		}
		item := read(d)
		if !object || !slices.Contains(n.names, name) {
			n.names, n.items = append(n.names, name), append(n.items, item)
		}
	}
	if _, err := d.Token(); err != nil {
		panic(err)
	}
	return n
}

// at returns the nodes at the parts of a path, by the rules that Path has in words.
func (n *node) at(parts []part) []*node {
	if len(parts) == 0 {
		return []*node{n}
	}
	p, rest := parts[0], parts[1:]
	var out []*node
	switch {
	case p.kind == each && n.kind == Array && len(rest) == 0:
		return []*node{{kind: Number, text: strconv.Itoa(len(n.items))}}
	case p.kind == each && n.kind == Array:
		for _, item := range n.items {
			out = append(out, item.at(rest)...)
		}
	case p.kind == first && n.kind == Array:
		for _, item := range n.items {
			if item.says(p.where.parts, p.want) {
				return item.at(rest)
			}
		}
	case p.kind == number && n.kind == Array:
		if i, err := strconv.Atoi(p.key); err == nil && i < len(n.items) {
			return n.items[i].at(rest)
		}
	case (p.kind == name || p.kind == number) && n.kind == Object:
		if i := slices.Index(n.names, p.key); i >= 0 {
			return n.items[i].at(rest)
		}
	}
	return out
}

// says reports whether a path leads to a scalar that reads so.
func (n *node) says(parts []part, want string) bool {
	found := n.at(parts)
	return len(found) == 1 && (found[0].kind == String || found[0].kind == Number || found[0].kind == Bool) && found[0].text == want
}

// same fails where a value and all in it is not what the tokens tell.
func same(t *testing.T, v Value, n *node) {
	t.Helper()
	if v.Kind() != n.kind || v.Text() != n.text {
		t.Fatalf("got kind %d %q, want kind %d %q", v.Kind(), v.Text(), n.kind, n.text)
	}
	i := 0
	for item := range v.Items() {
		if i >= len(n.items) {
			t.Fatalf("more than %d items", len(n.items))
		}
		same(t, item, n.items[i])
		i++
	}
	if i != len(n.items) {
		t.Fatalf("got %d items, want %d", i, len(n.items))
	}
}

// byNames fails where the path to a member, written out, doesn't lead to it.
func byNames(t *testing.T, v Value, n *node, before string, levels int) {
	t.Helper()
	if levels == 0 {
		return
	}
	for i, name := range n.names[:min(len(n.names), 20)] {
		part := strconv.Itoa(i)
		if n.kind == Object {
			if part = written(name); part == "" {
				continue
			}
		}
		p, err := Compile(before + part)
		if err != nil {
			t.Fatal(err)
		}
		same(t, p.First(v), n.items[i])
		byNames(t, v, n.items[i], before+part+".", levels-1)
	}
}

// written returns the part of a path that means a name; "" for one that no path can have.
func written(name string) string {
	var out strings.Builder
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == 0x7f || len(name) > 100 {
			return ""
		} else if strings.IndexByte(`.\#|*?`, c) >= 0 || i == 0 && '0' <= c && c <= '9' {
			out.WriteByte('\\')
		}
		out.WriteByte(name[i])
	}
	return out.String()
}

// FuzzPath compares what a path finds in a text with what encoding/json's tokens tell.
func FuzzPath(f *testing.F) {
	for _, body := range []string{
		`{"a":{"x":1},"a":{"b":2},"data":[{"id":1,"n":"A"},{"id":"1","n":"B"}],"@this":1.10,"k|*":"\u00e9\ud800x"}`,
		`[[1,2],[3,{"a.b":null}],"x",true,{"":{"0":5,"01":6}}]`, `{"a\"b":{"c\\":"d"},"e":-0.0E+10}`, "  \"x\" ", "12 ", "\ufefffor(;;);[{}]", `{"a":"\\\"","b":"\\"}`,
	} {
		for _, path := range []string{"a.b", "data.#.n", `data.#(id=="1").n`, "@this", `1.1.a\.b`, "#.#", `a"b.c\\`, "0.1", "!x", `k\|\*`, "{a", "[0", "e", "b"} {
			f.Add([]byte(body), path)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		v, err := Parse(body)
		text := bare(body)
		if (err == nil) != json.Valid(text) {
			t.Fatalf("error %v, valid %v", err, json.Valid(text))
		}
		if syntax, ok := errors.AsType[*SyntaxError](err); err != nil && (!ok || syntax.Line < 1 || syntax.Column < 1) {
			t.Fatalf("no place: %v", err)
		}
		p, wrong := Compile(path)
		if err != nil || wrong != nil || len(body) > 1<<14 {
			return
		}
		d := json.NewDecoder(strings.NewReader(strings.ToValidUTF8(string(text), "\ufffd")))
		d.UseNumber()
		root := read(d)
		same(t, v, root)
		byNames(t, v, root, "", 3)
		want := root.at(p.parts)
		i := 0
		for found := range p.In(v) {
			if i >= len(want) {
				t.Fatalf("%s finds more than %d values", path, len(want))
			}
			same(t, found, want[i])
			if i == 0 && p.First(v).Text() != found.Text() {
				t.Fatalf("%s: First finds another value", path)
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%s finds %d values, want %d", path, i, len(want))
		}
	})
}

// FuzzCompile: a path is refused, or it is one that has no other meaning.
func FuzzCompile(f *testing.F) {
	for _, path := range []string{"a.b", `#(a=="b").c`, `a\.b`, "0", "01", "|", `#(a.b\.c=="\"~")`, "#.#", `\#`, `\01`} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := Compile(path)
		if err != nil {
			return
		}
		for _, part := range p.parts {
			if part.kind <= number && (part.key == "" || part.find == "") || part.kind == first && (part.where == nil || strings.HasPrefix(part.want, "~")) {
				t.Errorf("%q: part %+v", path, part)
			}
		}
	})
}
