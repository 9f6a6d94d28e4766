package yp

import "bytes"

// appendKeyName appends a business name as it stands in a key: NormalName without
// "the" at its ends, with words that signs and directories shorten in one form.
func appendKeyName(dst []byte, s string) []byte {
	var buf [96]byte
	words := appendName(buf[:0], s)
	words = bytes.TrimPrefix(words, []byte("the "))
	words = bytes.TrimSuffix(words, []byte(" the"))
	more := true
	for more {
		var word []byte
		word, words, more = bytes.Cut(words, []byte{' '})
		if short := nameShort(word); short != "" {
			dst = append(dst, short...)
		} else {
			dst = append(dst, word...)
		}
		if more {
			dst = append(dst, ' ')
		}
	}
	return dst
}

// nameShort returns the one form of a word that names of businesses shorten, or "".
func nameShort(word []byte) string {
	switch string(word) {
	case "saint":
		return "st"
	case "mount":
		return "mt"
	case "fort":
		return "ft"
	case "brothers":
		return "bros"
	case "center", "centre", "cntr":
		return "ctr"
	case "service", "services", "svcs", "serv":
		return "svc"
	case "associates", "associate", "assocs", "assn", "association":
		return "assoc"
	case "international":
		return "intl"
	case "national":
		return "natl"
	case "management":
		return "mgmt"
	case "department":
		return "dept"
	case "manufacturing":
		return "mfg"
	case "doctor":
		return "dr"
	case "shoppe":
		return "shop"
	case "theatre":
		return "theater"
	}
	return ""
}

// nameStem returns what a business seldom leaves out of its name, of a key name: the
// first two words behind those that only say whose office it is. "Hernandez Roofing"
// and "Hernandez Roofing & Siding" with one phone are one business; of two lawyers who
// share one, each is behind a "Law Office of".
func nameStem(name []byte) []byte {
	word, rest, more := bytes.Cut(name, []byte{' '})
	for more && leadWord(word) {
		name = rest
		word, rest, more = bytes.Cut(name, []byte{' '})
	}
	if i := bytes.IndexByte(rest, ' '); i >= 0 {
		return name[:len(word)+1+i]
	}
	return name
}

func leadWord(word []byte) bool {
	switch string(word) {
	case "dr", "law", "office", "offices", "of", "firm", "the", "and", "a":
		return true
	}
	return false
}
