package yp

import (
	"bytes"
	"slices"
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
	if notStreets[string(words)] {
		return dst
	}
	start, numbered, last := len(dst), false, len(dst) // last is where the word before begins
	for more {
		var word []byte
		word, words, more = bytes.Cut(words, []byte{' '})
		known := streetWords[string(word)]
		if numbered && known.unit {
			if !more && known.floor && hasDigit(dst[last:]) && last > start+1 {
				return dst[:last-1] // "9th floor"
			}
			if number, _, _ := bytes.Cut(words, []byte{' '}); !more || len(number) == 1 || hasDigit(number) {
				return dst // "suite 4", "apt 200b", "unit a"
			}
		}
		numbered = numbered || hasDigit(word)
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		last = len(dst)
		if known.short != "" {
			dst = append(dst, known.short...)
		} else {
			dst = append(dst, word...)
		}
	}
	return dst
}

func hasDigit[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if '0' <= s[i] && s[i] <= '9' {
			return true
		}
	}
	return false
}

// isStreet reports whether a text is plainly a street and nothing else: a house number, words that end in one for a street, perhaps
// a direction and a unit behind them; or a corner of two. "80331 München" is none, nor is "12 Elm St, Springfield".
func isStreet(s string) bool {
	if len(s) > 7 && strings.EqualFold(s[:7], "corner ") && strings.IndexByte(s, ',') < 0 && !hasDigit(s) {
		return true
	}
	words := bytes.Fields(appendStreet(nil, s))
	for n := len(words); n > 2 && slices.Contains(directions[:], string(words[n-1])); n = len(words) {
		words = words[:n-1]
	}
	return len(words) > 1 && '0' <= words[0][0] && words[0][0] <= '9' && slices.Contains(streetEnds, string(words[len(words)-1]))
}

var directions = [...]string{"n", "s", "e", "w", "ne", "nw", "se", "sw"}

// streetEnds are words that end the name of a street, as appendStreet writes them.
var streetEnds = strings.Fields("st ave blvd rd dr ln ct pl hwy pkwy tpke ter cir sq trl plz expy fwy xing aly way loop row run pike walk broadway")

// IsAddress reports whether a text may be an address: not that there is none.
func IsAddress(s string) bool { return len(appendStreet(nil, s)) > 0 }

// notStreets are what people write where they have no address.
var notStreets = map[string]bool{
	"n a": true, "na": true, "none": true, "null": true, "unknown": true, "address not available": true, "no address": true,
	"call for address": true, "by appointment only": true, "mobile": true,
}

// streetWord is what is known of a word of an address.
type streetWord struct {
	short string // its abbreviation; "" = as it is
	unit  bool   // it may begin a secondary address
	floor bool   // that of a floor, whose number may be before it
}

// streetWords has the words of streetRules.
var streetWords = func() map[string]streetWord {
	words := map[string]streetWord{}
	for rule, long := range streetRules {
		for _, word := range strings.Fields(long) {
			switch rule {
			case "UNIT":
				words[word] = streetWord{unit: true}
			case "FLOOR":
				words[word] = streetWord{unit: true, floor: true}
			default:
				words[word] = streetWord{short: rule}
			}
		}
	}
	return words
}()

// streetRules has the words that begin a unit and a floor (USPS Publication 28, appendix C2), and
// behind each abbreviation the words that it stands for: of streets (appendix C1, the frequent
// ones), of directions, and the digits of ordinals.
var streetRules = map[string]string{
	"UNIT":  "ste suite unit apt apartment bldg building rm room dept department lot spc space trlr trailer ofc office no",
	"FLOOR": "fl floor flr",

	"st": "street str saint", "ave": "avenue av aven", "blvd": "boulevard boul bvd", "rd": "road", "dr": "drive drv",
	"ln": "lane", "ct": "court crt", "pl": "place", "hwy": "highway hiway hway", "pkwy": "parkway pky pkway parkwy",
	"tpke": "turnpike trnpk tpk", "ter": "terrace terr", "cir": "circle circ", "sq": "square sqr", "trl": "trail tr",
	"plz": "plaza plza", "hts": "heights", "expy": "expressway expwy", "fwy": "freeway", "rte": "route rt",
	"ctr": "center centre", "xing": "crossing", "jct": "junction", "pt": "point", "rdg": "ridge", "mt": "mount",
	"ft": "fort", "aly": "alley", "n": "north", "s": "south", "e": "east", "w": "west", "ne": "northeast",
	"nw": "northwest", "se": "southeast", "sw": "southwest", "1st": "first", "2nd": "second", "3rd": "third",
	"4th": "fourth", "5th": "fifth", "6th": "sixth", "7th": "seventh", "8th": "eighth", "9th": "ninth",
	"10th": "tenth", "11th": "eleventh", "12th": "twelfth",
}
