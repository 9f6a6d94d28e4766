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

// Rating reads a rating, see ReadRating, that is on the scale of 5 unless the text names another one, and returns it on
// that scale. 0 = none.
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

// ReadRating reads a rating: a number ("4.7", "4,7", "4 ½") alone, behind words for a rating ("Rated 4.7"), or before stars and a
// number of reviews; with its scale ("9.2/10", "4.7 out of 5", "92%"); or the words of a class, "result-rating four half".
// A number beside anything else is no rating: of "4 reviews", "Top 4" and "20% off" nobody knows what it counts.
func ReadRating(s string) (r RatingText) {
	if s != "" && isDigit(s[len(s)-1]) {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			return RatingText{Value: v}
		}
	}
	s, ok := plain(s)
	at := wordOfDigits(s)
	if !ok || at < 0 {
		return classRating(s)
	}
	value, behind := ratingNumber(s[at:])
	best, rest := ratingScale(behind)
	if value == 0 || best < 0 || !endsRating(rest, value, best, s[:at]) || best == 0 && namesScale(rest) {
		return r
	}
	if !ratingBehind(s[:at], best) && !plainlyRated(value, best, behind, rest) {
		return r
	}
	return RatingText{Value: value, Best: best}
}

// plainlyRated reports whether a number is a rating whatever is before it: it has a scale, and decimals or stars.
func plainlyRated(value, best float64, behind, rest string) bool {
	if best == 0 || strings.HasPrefix(strings.TrimLeft(behind, " "), "%") {
		return false
	}
	rest = strings.TrimLeft(rest, " ")
	return value != math.Trunc(value) || cutWord(rest, starNames) != rest
}

// classRating reads the words of a class, which count stars of five: one number, a half, or both, beside other words one of which names
// a rating. "two of three" and "two reviews" are no class.
func classRating(s string) (r RatingText) {
	var stars, half float64
	others, named := false, false
	for w := range strings.FieldsSeq(s) {
		n := float64(1 + slices.Index(starWords, w))
		switch {
		case n > 0 && stars > 0, w == "half" && half > 0, slices.Contains(noClass, strings.ToLower(w)):
			return r
		case n > 0:
			stars = n
		case w == "half":
			half = 0.5
		default:
			others, named = true, named || namesRating(w)
		}
	}
	if stars+half == 0 || others && !named {
		return r
	}
	return RatingText{Value: stars + half, Best: 5}
}

// starWords are the words of a class for one star and more.
var starWords = []string{"one", "two", "three", "four", "five"}

// noClass are words of a sentence that holds numbers in words.
var noClass = strings.Fields("of out von sur de by from based on top no best max over than more less and or to the a an in review reviews ratings people customers users votes years hours days ago")

// namesRating reports whether a word of a class names a rating: "result-rating", "stars", "c-score".
func namesRating(w string) bool {
	w = strings.ToLower(w)
	return slices.ContainsFunc(ratingStems, func(stem string) bool { return strings.Contains(w, stem) })
}

var ratingStems = []string{"rating", "rate", "star", "stern", "score", "review", "bewertung", "note", "valor", "estrell", "etoile"}

// wordOfDigits returns where the first number begins that is no part of a word such as "rating-45"; -1 = nowhere.
func wordOfDigits(s string) int {
	for at := 0; at < len(s); at++ {
		if !isDigit(s[at]) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		if at == 0 || strings.ContainsRune(" (:=["+starSigns, before) {
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

// ratingNumber reads the number that a text begins with. A point and a comma both are before decimals.
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
	if value != math.Trunc(value) {
		return value, rest
	}
	for sign, part := range ratingFractions {
		if after, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), sign); ok && digitsAt(after) == 0 {
			return value + part, after
		}
	}
	return value, rest
}

var ratingFractions = map[string]float64{"½": 0.5, "1/2": 0.5, "¼": 0.25, "¾": 0.75}

// Words of a rating: what it is counted in, what is before its scale, and before the reviews that it is made of.
// starSigns are the signs that ratings are drawn with.
const starSigns = "★☆⭐⭑⭒✩✪✫✬✭✮✯✰🌟●○◐◑\ufe0f"

// Words before a rating: what names it, and what may be between. reviewNames count what it is made of.
var (
	ratingLabels = strings.Fields("rating rated rate score scored star stars average avg overall bewertung kundenbewertung gesamtbewertung note nota puntuación puntuacion calificación valoración valutazione voto avaliação classificação beoordeling waardering ocena оценка рейтинг betyg vurdering 評価 评分 評分 평점")
	labelJoins   = strings.Fields("is of at was ist est es è")
	labelBounds  = strings.Fields("best max maximum highest worst min minimum lowest top no not")
	reviewNames  = strings.Fields("review reviews rating ratings vote votes bewertung bewertungen rezensionen avis opiniones reseñas recensioni beoordelingen avaliações opinii opinie отзывов") //nolint:misspell // Spanish
)

// ratingBehind reports whether a rating may be behind a text: nothing, stars, or words whose last one names a rating. A width in
// percent is that of a row of stars.
func ratingBehind(before string, best float64) bool {
	before = strings.TrimRight(before, " :=(["+starSigns)
	if before == "" {
		return true
	}
	word, before := lastWord(before)
	if word == "width" {
		return best == 100
	}
	if slices.Contains(labelJoins, word) {
		word, before = lastWord(before)
	}
	bound, _ := lastWord(before)
	return slices.Contains(ratingLabels, word) && !slices.Contains(labelBounds, bound)
}

// lastWord cuts the last word of a text, in lower case; "" where it does not end with one.
func lastWord(s string) (word, before string) {
	s = strings.TrimRight(s, " .")
	at := 1 + strings.LastIndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' })
	return strings.ToLower(s[at:]), s[:at]
}

// namesScale reports whether what is behind a rating may name its scale in a way that is not read: "(max 10)", "(1-10)", "of ten".
func namesScale(rest string) bool {
	bound, number := false, false
	for i := 0; i < len(rest); {
		end := len(rest) - len(strings.TrimLeftFunc(rest[i:], unicode.IsLetter))
		if end == i {
			number = number || isDigit(rest[i])
			if strings.IndexByte("/-", rest[i]) >= 0 && digitsAt(strings.TrimLeft(rest[i+1:], " ")) > 0 && (rest[i] == '/' || number) {
				return true
			}
			_, size := utf8.DecodeRuneInString(rest[i:])
			i += size
			continue
		}
		word := strings.ToLower(rest[i:end])
		if (slices.Contains(scaleWords, word) || slices.Contains(rangeWords, word)) && beginsNumber(strings.TrimLeft(rest[end:], " :.=(")) {
			return true
		}
		bound, number = bound || slices.Contains(bestWords, word), number || slices.Contains(numbers, word)
		i = end
	}
	return bound && number
}

// beginsNumber reports whether a text begins with a number, in digits or as a word.
func beginsNumber(s string) bool { return digitsAt(s) > 0 || cutWord(s, numbers) != s }

var (
	starNames  = strings.Fields("star stars stern sterne sternen étoile étoiles estrella estrellas estrela estrelas stella stelle ster sterren rating points punkte")
	scaleWords = strings.Fields("of von aus sur sobre de su van af av na z из")
	ratedBy    = strings.Fields("based from with by bei basierend average avg")
	bestWords  = strings.Fields("best max maximum maximal maximale máximo massimo worst min minimum highest lowest scale skala scala escala échelle out possible")
	rangeWords = strings.Fields("to bis")
	numbers    = strings.Fields("five ten hundred fünf zehn hundert cinq dix cent cinco diez cinque dieci")
	scales     = []float64{1, 3, 4, 5, 6, 7, 10, 20, 100}
)

// ratingScale reads the scale that a rating names behind its number, and returns its end; 0 when it names none, -1 when it names one that
// nobody rates by.
func ratingScale(s string) (best float64, rest string) {
	behind := strings.TrimLeft(s, " ")
	if after, ok := strings.CutPrefix(behind, "%"); ok {
		return 100, after
	}
	behind = strings.TrimLeft(cutWord(behind, starNames), " "+starSigns)
	behind, bracket := strings.CutPrefix(behind, "(")
	behind = strings.TrimPrefix(behind, "out ")
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
	if bracket {
		closed := false
		behind = cutWord(strings.TrimLeft(behind, " "), starNames)
		if behind, closed = strings.CutPrefix(behind, ")"); !closed {
			return -1, s
		}
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

// endsRating reports whether a rating may be before the rest of a text: nothing, stars, what is in brackets or behind a sign, or
// the number of reviews, where it can't be a part of the rating's number. best is 0 where it names no scale.
func endsRating(rest string, value, best float64, before string) bool {
	if numberGoesOn(rest) {
		return false
	}
	rest = strings.TrimLeft(rest, " ")
	if rest == "" || cutWord(rest, starNames) != rest || cutWord(rest, ratedBy) != rest {
		return true
	}
	sure := value != math.Trunc(value) || best > 0
	if best > 0 && strings.HasPrefix(rest, "on ") { // a site
		return true
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch after := rest[size:]; r {
	case '-':
		text, blank := strings.CutPrefix(after, " ")
		return cutWord(after, starNames) != after || blank && (digitsAt(text) == 0 || sure && countsReviews(text))
	case '.':
		return sure && (after == "" || after[0] == ' ')
	case ',':
		return after == "" || after[0] == ' ' && (sure || countsReviews(after[1:]))
	case ')', ']':
		return strings.ContainsAny(before, "([")
	case ';':
		return true
	}
	if isDigit(rest[0]) {
		return value != math.Trunc(value) || best > 0 && digitsAt(rest) != 3 && countsReviews(rest)
	}
	return strings.ContainsRune("([|·•"+starSigns, r)
}

// countsReviews reports whether a text begins with a number of reviews.
func countsReviews(s string) bool {
	after := strings.TrimLeft(s, "0123456789., ")
	return digitsAt(s) > 0 && cutWord(after, reviewNames) != after
}
