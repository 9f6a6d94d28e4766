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
		if short, ok := streetShorts[string(word)]; ok {
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

// streetShorts has the postal abbreviations of street words (USPS Publication 28, appendix
// C1, the frequent ones), of directions, and the digits of ordinals.
var streetShorts = map[string]string{
	"street": "st", "str": "st", "saint": "st", "avenue": "ave", "av": "ave", "aven": "ave", "boulevard": "blvd", "boul": "blvd", "bvd": "blvd",
	"road": "rd", "drive": "dr", "drv": "dr", "lane": "ln", "court": "ct", "crt": "ct", "place": "pl", "highway": "hwy", "hiway": "hwy", "hway": "hwy",
	"parkway": "pkwy", "pky": "pkwy", "pkway": "pkwy", "parkwy": "pkwy", "turnpike": "tpke", "trnpk": "tpke", "tpk": "tpke",
	"terrace": "ter", "terr": "ter", "circle": "cir", "circ": "cir", "square": "sq", "sqr": "sq", "trail": "trl", "tr": "trl",
	"plaza": "plz", "plza": "plz", "heights": "hts", "expressway": "expy", "expwy": "expy", "freeway": "fwy", "route": "rte", "rt": "rte",
	"center": "ctr", "centre": "ctr", "crossing": "xing", "junction": "jct", "point": "pt", "ridge": "rdg", "mount": "mt", "fort": "ft", "alley": "aly",
	"north": "n", "south": "s", "east": "e", "west": "w", "northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw", "first": "1st",
	"second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th", "seventh": "7th", "eighth": "8th", "ninth": "9th",
	"tenth": "10th", "eleventh": "11th", "twelfth": "12th",
}
