package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// ErrCut says that a text ends before its JSON does. Asking for it again may help.
var ErrCut = errors.New("JSON is cut short")

// SyntaxError is where a text stops being JSON.
type SyntaxError struct {
	Line   int   // from 1
	Column int   // from 1, in bytes
	Err    error // ErrCut, or what encoding/json says
}

// Error returns "line 1, column 7: what is wrong".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

// prefixes are before JSON that no script of another site shall be able to run.
var prefixes = [...]string{")]}',", ")]}'", "for(;;);", "for (;;);", "while(1);"}

const byteOrderMark = "\ufeff"

// Parse reads one JSON text in UTF-8, behind a byte order mark and a prefix such as )]}' or for(;;); if it has them. An
// error is a *SyntaxError: arrays and objects may be nested 10,000 deep (encoding/json). Bytes that are no UTF-8
// are U+FFFD.
func Parse(body []byte) (Value, error) {
	text := bare(body)
	if !json.Valid(text) {
		return Value{}, faultOf(body, len(body)-len(text))
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	return Value{at: gjson.ParseBytes(text)}, nil
}

// bare returns the text behind what may be before the JSON.
func bare(body []byte) []byte {
	text := trimSpace(bytes.TrimPrefix(body, []byte(byteOrderMark)))
	for _, prefix := range prefixes {
		if rest, ok := bytes.CutPrefix(text, []byte(prefix)); ok {
			return rest
		}
	}
	return text
}

// trimSpace cuts the white space of JSON (RFC 8259, section 2) off the start.
func trimSpace(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// faultOf says where a body that is no JSON goes wrong. The JSON begins at start.
func faultOf(body []byte, start int) error {
	var whole json.RawMessage
	if startsPrefix(body) || endsEarly(body[start:]) {
		return placeOf(body, len(body), ErrCut)
	}
	err := json.Unmarshal(body[start:], &whole)
	at := start
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at += int(syntax.Offset) - 1 // it counts the byte that is wrong
	}
	return placeOf(body, min(max(at, 0), len(body)), err)
}

// placeOf makes an error of what is wrong at a byte of a body.
func placeOf(body []byte, at int, err error) *SyntaxError {
	before := body[:at]
	return &SyntaxError{1 + bytes.Count(before, []byte("\n")), at - bytes.LastIndexByte(before, '\n'), err}
}

// endsEarly reports whether a text is the beginning of JSON, or nothing at all.
func endsEarly(text []byte) bool {
	var first json.RawMessage
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&first)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// startsPrefix reports whether a body is the beginning of a prefix, and nothing more.
func startsPrefix(body []byte) bool {
	text := string(trimSpace(bytes.TrimPrefix(body, []byte(byteOrderMark))))
	for _, prefix := range prefixes {
		if text != "" && strings.HasPrefix(prefix, text) {
			return true
		}
	}
	return false
}
