package site

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// position is where something is in a file, from 1.
type position struct{ line, column int }

// faults gathers what is wrong with a definition. It knows where each of its keys stands.
type faults struct {
	name    string
	at      map[string]position // of the keys and items of lists that the file has, by their path: "fields.phone[1]"
	missing []string            // paths of keys
	errs    []error
}

// walk notes where all that a node holds is in the file, and which of its keys the definition does not know.
// Values of the wrong type are left to the decoder. What an alias repeats is where its anchor does.
func (f *faults) walk(n *yaml.Node, want reflect.Type, path string) {
	if path != "" {
		f.at[path] = position{n.Line, n.Column}
	}
	if want == reflect.TypeFor[*bodyDef]() { // its keys are the site's
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			inner := want
			if want.Kind() == reflect.Slice {
				inner = want.Elem()
			}
			f.walk(item, inner, itemPath(path, i))
			if item.ShortTag() == "!!null" {
				f.add(itemPath(path, i), errEmpty)
			}
		}
	case yaml.MappingNode:
		if want == reflect.TypeFor[ruleSet]() { // one rule that stands for a list
			want = want.Elem()
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			f.entry(n.Content[i], n.Content[i+1], want, path)
		}
	}
}

// errEmpty says that an item of a list, or a key, has no value but a comment.
var errEmpty = errors.New("is empty: # begins a comment, so put quotes around a value that begins with #")

// entry notes a key of a mapping, and what its value holds.
func (f *faults) entry(key, value *yaml.Node, want reflect.Type, path string) {
	if key.ShortTag() == "!!merge" {
		return
	}
	at := strings.TrimPrefix(path+"."+key.Value, ".")
	switch want.Kind() {
	case reflect.Map:
		f.walk(value, want.Elem(), at)
	case reflect.Struct:
		field, ok := fieldOf(want, key.Value)
		if !ok {
			f.at[at] = position{key.Line, key.Column}
			f.add(at, unknown("key", key.Value, keysOf(want)))
			return
		}
		f.walk(value, field.Type, at)
		if value.Kind != yaml.ScalarNode {
			f.at[at] = position{key.Line, key.Column}
		}
	}
	if c := key.LineComment; value.ShortTag() == "!!null" && len(c) > 1 && c[1] != ' ' {
		f.add(at, errEmpty)
	}
}

// keysOf returns the keys of a mapping, in the order of the fields of its type.
func keysOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" && key != "-" {
			names = append(names, key)
		}
	}
	return names
}

// fieldOf returns the field of a mapping's type that has a key.
func fieldOf(t reflect.Type, key string) (field reflect.StructField, ok bool) {
	return t.FieldByNameFunc(func(name string) bool {
		f, _ := t.FieldByName(name)
		return f.Tag.Get("yaml") == key && key != "" && key != "-"
	})
}

// itemPath is the path of an item of a list.
func itemPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// find returns the path under which the file has a key or an item of a list: a field with one rule has no list.
func (f *faults) find(path string) (string, position, bool) {
	if at, ok := f.at[path]; ok {
		return path, at, true
	}
	path, _, _ = strings.Cut(path, "[")
	at, ok := f.at[path]
	return path, at, ok
}

// add notes a fault at a path: at what holds it, where the file does not have it.
func (f *faults) add(path string, err error) {
	if err == nil {
		return
	}
	e := &DefinitionError{Name: f.name, Field: path, Err: err}
	for up, ok := path, false; !ok && up != ""; up = up[:max(0, strings.LastIndexByte(up, '.'))] {
		var at position
		if up, at, ok = f.find(up); ok {
			e.Line, e.Column = at.line, at.column
			if strings.HasPrefix(path, up+"[") {
				e.Field = up
			}
		}
	}
	f.errs = append(f.errs, e)
}

// item returns the path of an item of a list; where one item stands for the list, that of the list.
func (f *faults) item(path string, i int) string {
	if at := itemPath(path, i); i > 0 || f.at[at] != (position{}) {
		return at
	}
	return path
}

// lacks notes that a key which must be there is not.
func (f *faults) lacks(path string) { f.missing = append(f.missing, path) }

// err returns all faults, those of missing keys as one.
func (f *faults) err() error {
	if len(f.missing) > 0 {
		verb := "is"
		if len(f.missing) > 1 {
			verb = "are"
		}
		f.errs = append(f.errs, &DefinitionError{Name: f.name, Err: fmt.Errorf("%s %s missing", strings.Join(f.missing, "; "), verb)})
	}
	return errors.Join(f.errs...)
}

var (
	yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (?s:(.*))$`)
	yamlType = regexp.MustCompile(`(?s)^cannot unmarshal !!(.*) into .*$`) // which names a type of Go
)

// fromYAML turns yaml's errors into ours.
func (f *faults) fromYAML(err error) error {
	msgs := []string{err.Error()}
	if typeErr, ok := errors.AsType[*yaml.TypeError](err); ok {
		msgs = typeErr.Errors
	}
	for _, msg := range msgs {
		e, text := &DefinitionError{Name: f.name}, strings.TrimPrefix(msg, "yaml: ")
		if m := yamlLine.FindStringSubmatch(msg); m != nil {
			e.Line, _ = strconv.Atoi(m[1])
			text = m[2]
		}
		e.Err = errors.New(yamlType.ReplaceAllString(text, "unexpected $1: want another type of value"))
		f.errs = append(f.errs, e)
	}
	return errors.Join(f.errs...)
}
