package weburl

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// encodingOf returns the encoding in which a page of a charset writes queries, nil = UTF-8.
// UTF-16 is none of those ("get an output encoding" of the Encoding Standard), and the
// stateful ISO-2022-JP is left alone.
func encodingOf(charset string) encoding.Encoding {
	switch charset = strings.ToLower(charset); {
	case charset == "", charset == "utf-8", strings.HasPrefix(charset, "utf-16"), charset == "replacement", charset == "iso-2022-jp":
		return nil
	}
	e, err := htmlindex.Get(charset)
	if err != nil {
		return nil
	}
	return e
}

// inCharset writes what the query of a reference holds beyond ASCII in the page's encoding,
// as escapes ("percent-encode after encoding" of the URL Standard). The parser's own option for this writes paths so, too,
// and knows encodings of one byte only.
func inCharset(ref string, in encoding.Encoding) string {
	if in == nil {
		return ref
	}
	main, fragment, fragmented := strings.Cut(ref, "#")
	path, query, ok := strings.Cut(main, "?")
	if !ok || ascii(query) {
		return ref
	}
	b := append([]byte(path), '?')
	encoder := in.NewEncoder()
	for _, r := range query {
		if r < utf8.RuneSelf {
			b = append(b, byte(r))
			continue
		}
		text, err := encoder.String(string(r))
		if err != nil {
			encoder.Reset()
			b = fmt.Appendf(b, "%%26%%23%d%%3B", r)
			continue
		}
		for i := range len(text) {
			if c := text[i]; class[c]&inQuery != 0 {
				b = append(b, c)
			} else {
				b = fmt.Appendf(b, "%%%02X", c)
			}
		}
	}
	if fragmented {
		b = append(append(b, '#'), fragment...)
	}
	return string(b)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
