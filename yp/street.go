package yp

import (
	"bytes"
	"strings"
)

// appendStreet appends a street address as it is compared: words as in NormalName,
// with the usual postal abbreviations, ordinals in digits, and without the unit
// (suite, floor, "#4"): directories leave it out as often as not, and a key has the
// name beside it. A text that stands for no address gives nothing.
func appendStreet(dst []byte, s string) []byte {
	if i := strings.IndexByte(s, '#'); i > 0 && hasDigit(s[:i]) {
		s = s[:i]
	}
	var buf [96]byte
	words, more := appendWords(buf[:0], s), true
	if noStreet(words) {
		return dst
	}
	start, numbered, last := len(dst), false, len(dst) // last is where the word before begins
	for more {
		var word []byte
		word, words, more = bytes.Cut(words, []byte{' '})
		if numbered && unitWord(word) {
			if !more && floorWord(word) && hasDigit(dst[last:]) && last > start+1 {
				return dst[:last-1] // "9th floor"
			}
			if !more || unitFollows(words) {
				return dst
			}
		}
		numbered = numbered || hasDigit(word)
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		last = len(dst)
		if short := postalShort(word); short != "" {
			dst = append(dst, short...)
		} else {
			dst = append(dst, word...)
		}
	}
	return dst
}

// noStreet reports whether words are what people write where they have no address.
func noStreet(words []byte) bool {
	switch string(words) {
	case "n a", "na", "none", "null", "unknown", "address not available", "no address", "call for address", "by appointment only", "mobile":
		return true
	}
	return false
}

// unitWord reports whether word may begin a secondary address (USPS Publication 28,
// appendix C2).
func unitWord(word []byte) bool {
	switch string(word) {
	case "ste", "suite", "unit", "apt", "apartment", "bldg", "building", "fl", "floor", "flr", "rm", "room", "dept", "department",
		"lot", "spc", "space", "trlr", "trailer", "ofc", "office", "no":
		return true
	}
	return false
}

func floorWord(word []byte) bool {
	return string(word) == "fl" || string(word) == "floor" || string(word) == "flr"
}

// unitFollows reports whether the words behind a unit word begin with a unit's number
// or letter: "4", "200b", "a".
func unitFollows(words []byte) bool {
	word, _, _ := bytes.Cut(words, []byte{' '})
	return len(word) == 1 || hasDigit(word)
}

func hasDigit[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			return true
		}
	}
	return false
}

// postalShort returns the postal abbreviation of a street word (USPS Publication 28,
// appendix C1, the frequent ones), the digits of an ordinal, or "".
func postalShort(word []byte) string {
	switch string(word) {
	case "street", "str", "saint":
		return "st"
	case "avenue", "av", "aven":
		return "ave"
	case "boulevard", "boul", "bvd":
		return "blvd"
	case "road":
		return "rd"
	case "drive", "drv":
		return "dr"
	case "lane":
		return "ln"
	case "court", "crt":
		return "ct"
	case "place":
		return "pl"
	case "highway", "hiway", "hway":
		return "hwy"
	case "parkway", "pky", "pkway", "parkwy":
		return "pkwy"
	case "turnpike", "trnpk", "tpk":
		return "tpke"
	case "terrace", "terr":
		return "ter"
	case "circle", "circ":
		return "cir"
	case "square", "sqr":
		return "sq"
	case "trail", "tr":
		return "trl"
	case "plaza", "plza":
		return "plz"
	}
	return rarerShort(word)
}

// rarerShort goes on where postalShort ends.
func rarerShort(word []byte) string {
	switch string(word) {
	case "heights":
		return "hts"
	case "expressway", "expwy":
		return "expy"
	case "freeway":
		return "fwy"
	case "route", "rt":
		return "rte"
	case "center", "centre":
		return "ctr"
	case "crossing":
		return "xing"
	case "junction":
		return "jct"
	case "point":
		return "pt"
	case "ridge":
		return "rdg"
	case "mount":
		return "mt"
	case "fort":
		return "ft"
	case "alley":
		return "aly"
	}
	return directionShort(word)
}

func directionShort(word []byte) string {
	switch string(word) {
	case "north":
		return "n"
	case "south":
		return "s"
	case "east":
		return "e"
	case "west":
		return "w"
	case "northeast":
		return "ne"
	case "northwest":
		return "nw"
	case "southeast":
		return "se"
	case "southwest":
		return "sw"
	}
	return ordinal(word)
}

// ordinal returns an ordinal of a numbered street in digits, or "".
func ordinal(word []byte) string {
	switch string(word) {
	case "first":
		return "1st"
	case "second":
		return "2nd"
	case "third":
		return "3rd"
	case "fourth":
		return "4th"
	case "fifth":
		return "5th"
	case "sixth":
		return "6th"
	case "seventh":
		return "7th"
	case "eighth":
		return "8th"
	case "ninth":
		return "9th"
	case "tenth":
		return "10th"
	case "eleventh":
		return "11th"
	case "twelfth":
		return "12th"
	}
	return ""
}
