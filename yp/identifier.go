package yp

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a listing in bytes: of an id that a site gives, of one that is a path, and of what is
// kept of a name; and in number: of the hours and categories that are kept.
const (
	MaxID     = 64
	MaxPathID = 200
	MaxName   = 300

	MaxHours      = 21 // three a day
	MaxCategories = 30
)

// Identifier returns the text that a site gives as an id, of at most MaxID bytes; "" when there is no
// text. White space is folded as Clean does, and nothing else is changed: ids that differ stay apart.
// So one that is too long, that holds what Clean drops (control and format characters, invalid UTF-8),
// or that looks like a hashed one, is hashed, see hashedID.
func Identifier(s string) string {
	clean := Clean(s)
	if clean == "" {
		return ""
	}
	s = Fold(s)
	if s == clean && len(s) <= MaxID && !looksHashed(s, sha256Digits) {
		return strings.Clone(s)
	}
	sum := sha256.Sum256([]byte(s))
	return hashedID(s, MaxID, fmt.Sprintf("%x", sum[:sha256Digits/2]))
}

// PathID returns a path as an id of at most MaxPathID bytes. The hash is a shorter one than that of
// Identifier, and paths that merely end as hashed ones do are kept: databases hold such ids.
func PathID(path string) string {
	if len(path) <= MaxPathID && !(len(path) > MaxPathID-utf8.UTFMax && looksHashed(path, fnvDigits)) {
		return path
	}
	h := fnv.New64a()
	h.Write([]byte(path))
	return hashedID(path, MaxPathID, fmt.Sprintf("%016x", h.Sum64()))
}

// Digits of the hashes that ids end with.
const (
	sha256Digits = 32
	fnvDigits    = 16
)

// hashedID returns how a text begins, clean, and its hash: what is cut or dropped does not make two
// texts one id. At most most bytes.
func hashedID(s string, most int, hash string) string {
	room := most - 1 - len(hash)
	return Clip(Clean(Clip(s, room)), room) + "~" + hash
}

// looksHashed reports whether a text ends as hashedID does.
func looksHashed(s string, digits int) bool {
	i := len(s) - digits
	return i > 0 && s[i-1] == '~' && strings.Trim(s[i:], "0123456789abcdef") == ""
}

// PlainID returns a text that can hardly be anything but an id, a word of at most MaxID bytes, else "":
// for places where other texts stand, too.
func PlainID(s string) string {
	if len(s) > MaxID {
		return ""
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte("-_.:", s[i]) < 0 {
			return ""
		}
	}
	return strings.Clone(s)
}

// Fold makes every run of white space one space and trims the ends, as Clean does, and keeps all else.
// Text that is so already comes back as it is.
func Fold(s string) string {
	if isClean(s) {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " ")
}
