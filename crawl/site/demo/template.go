package demo

import (
	"bytes"
	"compress/flate"
	"fmt"
	"regexp"
	"strings"
)

// A template is markup with [[field]] where a value goes and [[?field]]…[[/]]
// around what stands only when the value is not empty. html/template would
// cost more than the whole page does here, and would not tell the page which
// pieces repeat.
type template []op

type op struct {
	kind  opKind
	arg   int // piece or field
	after int // opIf: where to go on when the value is empty
}

type opKind uint8

const (
	opPiece opKind = iota
	opField
	opIf
)

// values are the values of one card or one frame, ready to stand in markup,
// and where each stands on the page already (1 + offset).
type values struct {
	s  [numFields]string
	at [numFields]int32
}

// templates holds the pieces of all templates of a directory.
type templates struct {
	pieces []piece
	byText map[string]int
}

var tagPattern = regexp.MustCompile(`\[\[(\?|/)?([a-z_]*)\]\]`)

// parse compiles the text of a template.
func (ts *templates) parse(name, text string) (template, error) {
	var t template
	var open []int
	for text != "" {
		m := tagPattern.FindStringSubmatchIndex(text)
		if m == nil {
			t = append(t, ts.literal(text))
			break
		}
		if m[0] > 0 {
			t = append(t, ts.literal(text[:m[0]]))
		}
		mark, field := "", text[m[4]:m[5]]
		if m[2] >= 0 {
			mark = text[m[2]:m[3]]
		}
		text = text[m[1]:]
		if mark == "/" {
			if len(open) == 0 {
				return nil, fmt.Errorf("template %s: [[/]] without a condition", name)
			}
			t[open[len(open)-1]].after = len(t)
			open = open[:len(open)-1]
			continue
		}
		f, err := fieldNamed(field)
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", name, err)
		}
		if mark == "?" {
			open = append(open, len(t))
			t = append(t, op{kind: opIf, arg: f})
			continue
		}
		t = append(t, op{kind: opField, arg: f})
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("template %s: a condition is not closed", name)
	}
	return t, nil
}

func (ts *templates) literal(text string) op {
	id, ok := ts.byText[text]
	if !ok {
		id = len(ts.pieces)
		ts.pieces = append(ts.pieces, piece{text: text, packed: pack(text)})
		ts.byText[text] = id
	}
	return op{kind: opPiece, arg: id}
}

// pack deflates a long text into blocks that end on a byte boundary and are
// not final, so that they can stand anywhere in a stream.
func pack(text string) []byte {
	if len(text) < packedFrom {
		return nil
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, 6)
	if err != nil {
		return nil
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return nil
	}
	if err := w.Flush(); err != nil {
		return nil
	}
	return b.Bytes()
}

// write appends the template with the values v to the page.
func (t template) write(p *page, v *values) {
	for i := 0; i < len(t); i++ {
		switch o := t[i]; o.kind {
		case opPiece:
			p.piece(o.arg)
		case opField:
			s, off := v.s[o.arg], int32(len(p.buf))
			if at := v.at[o.arg]; at > 0 {
				p.again(s, at-1)
			} else {
				p.raw(s)
			}
			v.at[o.arg] = off + 1
		case opIf:
			if v.s[o.arg] == "" {
				i = o.after - 1
			}
		}
	}
}

var analyticsPattern = regexp.MustCompile(`data-analytics='([^']*)'`)

// entityQuoted rewrites raw JSON attributes in single quotes into the
// entity-encoded form in double quotes: the site serves both.
func entityQuoted(text string) string {
	return analyticsPattern.ReplaceAllStringFunc(text, func(s string) string {
		inner := analyticsPattern.FindStringSubmatch(s)[1]
		return `data-analytics="` + strings.ReplaceAll(inner, `"`, "&quot;") + `"`
	})
}
