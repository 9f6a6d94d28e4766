package yp

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A RatingText is what a text says of a rating.
type RatingText struct {
	Value float64 // 0 = it says none that can be read
	Best  float64 // the end of the scale, when it names it; else 0
}

// Rating reads a rating, see ReadRating, that is on the scale of 5 unless the text names another one, and returns it on that scale. 0 = none.
func Rating(s string) float64 { return RatingOf(s, 5) }

// RatingOf reads a rating as Rating does. best is the end of its scale where the text doesn't say.
func RatingOf(s string, best float64) float64 {
	r := ReadRating(s)
	if r.Best > 0 {
		best = r.Best
	}
	return Stars(r.Value, best)
}

// Stars returns a rating of a scale that ends at best on the scale of 5, with two decimals at most; 0 when it is out of
// the scale, or below half a star.
func Stars(r, best float64) float64 {
	if !(r > 0 && r <= best) || math.IsInf(best, 0) {
		return 0
	}
	if r = math.Round(r*500/best) / 100; r < leastRating {
		return 0
	}
	return r
}

// leastRating is the lowest rating that there is, half a star.
const leastRating = 0.5

// ReadRating reads a rating: a number ("4.7", "4,7", "4 ½") alone, behind words ("Rated 4.7"), or before stars and a number
// of reviews; with its scale ("9.2/10", "4.7 out of 5", "92%"); or the words of a class, "result-rating four half".
// A number before anything else is no rating: of "4 reviews" nobody knows what it counts.
func ReadRating(s string) (r RatingText) {
	if s != "" && isDigit(s[len(s)-1]) {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			return RatingText{Value: v}
		}
	}
	s, ok := plain(s)
	at := wordOfDigits(s)
	if !ok || at < 0 {
		r.Value = starWords(s)
		return r
	}
	value, rest := ratingNumber(s[at:])
	best, rest := ratingScale(rest)
	if value == 0 || best < 0 || best == 0 && !endsRating(rest, value) || best > 0 && numberGoesOn(rest) {
		return r
	}
	return RatingText{Value: value, Best: best}
}

// starWords adds up the words of a class.
func starWords(s string) (r float64) {
	for w := range strings.FieldsSeq(s) {
		switch w {
		case "one":
			r++
		case "two":
			r += 2
		case "three":
			r += 3
		case "four":
			r += 4
		case "five":
			r += 5
		case "half":
			r += 0.5
		}
	}
	return r
}

// wordOfDigits returns where the first number begins that is no part of a word such as "rating-45"; -1 = nowhere.
func wordOfDigits(s string) int {
	for at := 0; at < len(s); at++ {
		if !isDigit(s[at]) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		if at == 0 || strings.ContainsRune(" (:=[", before) || unicode.IsSymbol(before) && before > utf8.RuneSelf {
			return at
		}
		if next := strings.IndexByte(s[at:], ' '); next >= 0 {
			at += next
		} else {
			return -1
		}
	}
	return -1
}

// ratingNumber reads the number that a text begins with. A point and a comma both stand before decimals.
func ratingNumber(s string) (value float64, rest string) {
	end := digitsAt(s)
	digits := s[:end]
	if n := decimalsAt(s[end:]); n > 0 {
		digits += "." + s[end+1:end+1+n]
		end += 1 + n
	}
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, s
	}
	rest = s[end:]
	for sign, part := range ratingFractions {
		if after, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), sign); ok && digitsAt(after) == 0 {
			return value + part, after
		}
	}
	return value, rest
}

var ratingFractions = map[string]float64{"½": 0.5, "1/2": 0.5, "¼": 0.25, "¾": 0.75}

// Words of a rating: what it is counted in, what stands before its scale, and before the reviews that it is made of.
var (
	starNames  = strings.Fields("star stars stern sterne sternen étoile étoiles estrella estrellas estrela estrelas stella stelle ster sterren rating points punkte")
	scaleWords = strings.Fields("of von aus sur sobre de su van af av na z из")
	ratedBy    = strings.Fields("based from with by bei basierend average avg")
	scales     = []float64{1, 3, 4, 5, 6, 7, 10, 20, 100}
)

// ratingScale reads the scale that a rating names behind its number, and returns its end; 0 when it names none, -1 when it names one that
// nobody rates by.
func ratingScale(s string) (best float64, rest string) {
	behind := strings.TrimLeft(s, " ")
	if after, ok := strings.CutPrefix(behind, "%"); ok {
		return 100, after
	}
	behind = strings.TrimPrefix(cutWord(behind, starNames), "out ")
	if after, ok := strings.CutPrefix(behind, "/"); ok {
		behind = strings.TrimLeft(after, " ")
	} else if after := cutWord(behind, scaleWords); after != behind {
		behind = after
	} else {
		return 0, s
	}
	if digitsAt(behind) == 0 {
		return 0, s
	}
	if best, behind = ratingNumber(behind); !slices.Contains(scales, best) {
		return -1, s
	}
	return best, behind
}

// cutWord takes one of the words from the start of a text, in any letter case, with the blanks behind it.
func cutWord(s string, words []string) (rest string) {
	end := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(s)
	}
	if !slices.Contains(words, strings.ToLower(s[:end])) {
		return s
	}
	return strings.TrimLeft(s[end:], " ")
}

// numberGoesOn reports whether a number is not over where it seems to be: it is a date, or something else.
func numberGoesOn(rest string) bool {
	if rest == "" {
		return false
	}
	r, size := utf8.DecodeRuneInString(rest)
	return unicode.IsLetter(r) || isDigit(rest[0]) || strings.IndexByte("./,:-%", rest[0]) >= 0 && digitsAt(rest[size:]) > 0
}

// endsRating reports whether a rating that names no scale may stand before the rest of a text: nothing, stars, what stands in
// brackets or behind a sign, or, where it has decimals, the number of reviews.
func endsRating(rest string, value float64) bool {
	if numberGoesOn(rest) {
		return false
	}
	rest = strings.TrimLeft(rest, " ")
	if rest == "" || cutWord(rest, starNames) != rest || cutWord(rest, ratedBy) != rest {
		return true
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case isDigit(rest[0]):
		return value != math.Trunc(value)
	case rest[0] == '-':
		return digitsAt(strings.TrimLeft(rest[1:], " ")) == 0
	case rest[0] == '.':
		return len(rest) == 1 || rest[1] == ' '
	}
	return strings.ContainsRune("()[]|,;·•", r) && (size > 1 || rest[0] != ',' || len(rest) == 1 || rest[1] == ' ') || unicode.IsSymbol(r) && size > 1
}
