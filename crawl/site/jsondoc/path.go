package jsondoc

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Bounds on what a definition may write.
const (
	maxPath  = 1000 // bytes
	maxParts = 32
	maxIndex = 9 // digits
)

// Path says where values are in a JSON text: parts with dots between them.
//
//	name             the member of that name
//	0                the element of that number, from 0; of an object the member of that name
//	#                each element; at the end of a path how many there are
//	#(key=="value")  the first element whose key, itself a path of names and numbers, says value
//
// A backslash before one of . \ # | * ? makes it part of a name.
type Path struct{ parts []part }

// part is one step of a path.
type part struct {
	kind  partKind
	key   string // of names and numbers, as it is in the text
	find  string // the same as gjson takes it
	where *Path  // of a query: what is compared with want
	want  string
}

type partKind int

const (
	name   partKind = iota
	number          // of an element, or the name of a member
	each
	first // that a query finds
)

// Compile reads a path. What it refuses means something else to gjson, or to people.
func Compile(text string) (Path, error) {
	p, err := compile(text)
	if err != nil {
		return Path{}, fmt.Errorf("path %q: %w", text, err)
	}
	return p, nil
}

func compile(text string) (p Path, err error) {
	if len(text) > maxPath {
		return p, fmt.Errorf("is longer than %d bytes", maxPath)
	}
	r := pathReader{rest: text}
	for more := true; more && err == nil; {
		var next part
		next, err = r.part()
		p.parts = append(p.parts, next)
		if more = r.rest != ""; more && err == nil {
			err = r.dot()
		}
	}
	if err == nil && len(p.parts) > maxParts {
		err = fmt.Errorf("has more than %d parts", maxParts)
	}
	return p, err
}

// Key returns the name, or number, that is all of the path; "" when the path is anything else.
func (p Path) Key() string {
	if len(p.parts) == 1 && p.parts[0].kind <= number {
		return p.parts[0].key
	}
	return ""
}

// Parent returns the path without its last part, and whether that is a name.
func (p Path) Parent() (Path, bool) {
	last := len(p.parts) - 1
	if last < 0 || p.parts[last].kind != name {
		return Path{}, false
	}
	return Path{p.parts[:last]}, true
}

// List returns the path to the list whose elements a # at its end counts, of # alone what the path is seen from; any other path
// as it is.
func (p Path) List() Path {
	if last := len(p.parts) - 1; last >= 0 && p.parts[last].kind == each {
		return Path{p.parts[:last]}
	}
	return p
}

// Member returns the path to a member of what is at the path.
func (p Path) Member(key string) Path {
	return Path{append(slices.Clip(slices.Clone(p.parts)), part{kind: name, key: key, find: gjson.Escape(key)})}
}

// In returns the values at the path, as seen from v, in the order in which they are there. Without # in the path there is
// one at most.
func (p Path) In(v Value) iter.Seq[Value] {
	return func(yield func(Value) bool) { walk(p.parts, v, yield) }
}

// First returns the first value at the path, as seen from v; the zero Value when there is none.
func (p Path) First(v Value) (found Value) {
	walk(p.parts, v, func(at Value) bool {
		found = at
		return false
	})
	return found
}

// walk hands the values at the parts of a path to yield, until that returns false.
func walk(parts []part, v Value, yield func(Value) bool) bool {
	for i := range parts {
		if parts[i].kind == each {
			return walkEach(parts[i+1:], v, yield)
		}
		if v = parts[i].step(v); v.Kind() == None {
			return true
		}
	}
	return yield(v)
}

// walkEach walks from each element of an array. Without parts behind it, it counts them.
func walkEach(parts []part, v Value, yield func(Value) bool) (more bool) {
	if v.Kind() != Array {
		return true
	}
	n := 0
	more = true
	v.at.ForEach(func(_, item gjson.Result) bool {
		if n++; len(parts) > 0 {
			more = walk(parts, Value{at: item}, yield)
		}
		return more
	})
	if len(parts) > 0 {
		return more
	}
	return yield(Value{at: gjson.Result{Type: gjson.Number, Raw: strconv.Itoa(n), Num: float64(n)}})
}

// step returns the value that a part finds in v.
func (p *part) step(v Value) Value {
	switch kind := v.Kind(); {
	case p.kind == first && kind == Array:
		return p.match(v)
	case p.kind == number && kind == Array, p.kind <= number && kind == Object:
		if v.members != nil {
			return v.member(p.key)
		}
		return Value{at: v.at.Get(p.find)}
	}
	return Value{}
}

// match returns the first element of an array that a query finds.
func (p *part) match(v Value) (found Value) {
	v.at.ForEach(func(_, item gjson.Result) bool {
		at := p.where.First(Value{at: item})
		if kind := at.Kind(); (kind == String || kind == Number || kind == Bool) && at.Text() == p.want {
			found = Value{at: item}
			return false
		}
		return true
	})
	return found
}

var (
	errPart   = errors.New("has an empty part: put a name between the dots, and write \\. for a dot within a name")
	errEscape = errors.New(`has a \ before a character that doesn't need it: write \\ for a backslash in a name`)
	errWild   = errors.New(`|, * and ? have no meaning here: write \|, \* or \? if the name holds one`)
	errZero   = errors.New(`a number can't begin with 0: if it is a name, put a \ before it`)
	errBig    = fmt.Errorf("a number has more than %d digits", maxIndex)
	errEach   = errors.New(`# must be alone or begin a query such as #(key=="value"): write \# for one in a name`)
	errQuery  = errors.New(`want a query such as #(key=="value")`)
	errWant   = errors.New("the value of a query must not begin with ~ or hold control characters")
)

// pathReader takes the parts off a path.
type pathReader struct{ rest string }

// dot passes over the dot between two parts.
func (r *pathReader) dot() error {
	if r.rest[0] != '.' {
		return errEach // only behind # and queries can there be anything else
	}
	r.rest = r.rest[1:]
	return nil
}

// part reads the next part.
func (r *pathReader) part() (part, error) {
	if rest, ok := strings.CutPrefix(r.rest, "#"); ok {
		r.rest = rest
		if strings.HasPrefix(rest, "(") {
			return r.query()
		}
		return part{kind: each}, nil
	}
	key, plain, err := r.key(".")
	switch {
	case err != nil:
		return part{}, err
	case key == "":
		return part{}, errPart
	case !plain || strings.Trim(key, "0123456789") != "":
		return part{kind: name, key: key, find: gjson.Escape(key)}, nil
	case len(key) > 1 && key[0] == '0':
		return part{}, errZero
	case len(key) > maxIndex:
		return part{}, errBig
	}
	return part{kind: number, key: key, find: key}, nil
}

// key reads a name up to one of the bytes in ends, or to the end of the path. plain is false where a backslash stood in it.
func (r *pathReader) key(ends string) (key string, plain bool, err error) {
	var out strings.Builder
	plain = true
	for ; r.rest != "" && strings.IndexByte(ends, r.rest[0]) < 0; r.rest = r.rest[1:] {
		switch c := r.rest[0]; {
		case c == '\\':
			plain = false
			if r.rest = r.rest[1:]; r.rest == "" || !escapable(r.rest[0], out.Len() == 0) {
				return "", false, errEscape
			}
		case strings.IndexByte("|*?", c) >= 0:
			return "", false, errWild
		case c < ' ' || c == 0x7f:
			return "", false, errors.New("holds control characters")
		}
		out.WriteByte(r.rest[0])
	}
	return out.String(), plain, nil
}

// escapable reports whether a backslash may be before a byte: one that means something else, or the digit at the start
// of a name that is no number.
func escapable(c byte, start bool) bool {
	return strings.IndexByte(`.\#|*?=)"`, c) >= 0 || start && '0' <= c && c <= '9'
}

// query reads (key=="value").
func (r *pathReader) query() (part, error) {
	r.rest = r.rest[1:]
	where := Path{}
	for {
		key, plain, err := r.key(".=)\"")
		if err != nil {
			return part{}, err
		}
		inner := pathReader{rest: key}
		next := part{kind: name, key: key, find: gjson.Escape(key)}
		if plain {
			if next, err = inner.part(); err != nil {
				return part{}, err
			}
			if next.kind == each {
				return part{}, errQuery
			}
		}
		where.parts = append(where.parts, next)
		if !strings.HasPrefix(r.rest, ".") {
			break
		}
		r.rest = r.rest[1:]
	}
	rest, ok := strings.CutPrefix(r.rest, "==")
	if !ok {
		return part{}, errQuery
	}
	r.rest = rest
	want, err := r.want()
	if err == nil && (strings.HasPrefix(want, "~") || strings.ContainsFunc(want, control)) {
		err = errWant
	}
	return part{kind: first, where: &where, want: want}, err
}

// want reads the value of a query with what ends it: a text in quotes, in which a backslash may be before a quote or a
// backslash, or a number, true or false.
func (r *pathReader) want() (string, error) {
	var out strings.Builder
	rest, quoted := strings.CutPrefix(r.rest, `"`)
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		switch {
		case quoted && c == '\\':
			if i++; i == len(rest) || rest[i] != '"' && rest[i] != '\\' {
				return "", errQuery
			}
			c = rest[i]
		case quoted && c == '"' && strings.HasPrefix(rest[i+1:], ")"):
			r.rest = rest[i+2:]
			return out.String(), nil
		case !quoted && c == ')':
			r.rest = rest[i+1:]
			return bareWord(out.String())
		case quoted && c == '"':
			return "", errQuery
		}
		out.WriteByte(c)
	}
	return "", errQuery
}

// bareWord returns the value of a query that is without quotes, if it may.
func bareWord(s string) (string, error) {
	if v, err := Parse([]byte(s)); err != nil || v.Kind() != Number && v.Kind() != Bool || v.Text() != s {
		return "", errQuery
	}
	return s, nil
}

// control reports whether a character is one of the controls of ASCII or of Latin-1.
func control(c rune) bool { return c < ' ' || 0x7f <= c && c < 0xa0 }
