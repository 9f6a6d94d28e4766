package yp

import (
	"bytes"
	"encoding/json"
)

// JSON writes v as encoding/json does, with a line end, indented by indent; but "&" and "<" stay as they are, and control
// characters that encoding/json leaves (bidi overrides, C1) are escaped, so that no name acts on a terminal.
func JSON(v any, indent string) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // "&" is common in names
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return append(EscapeJSON(bytes.TrimSuffix(text.Bytes(), []byte{'\n'})), '\n'), err
}
