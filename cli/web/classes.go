package web

import (
	"cmp"
	"slices"

	"ypcrawl/yp"
)

// classWords says for people why a request failed, by class: what the site did first, then what never reached it.
var classWords = []struct {
	Class yp.ErrorClass
	Words string
}{
	{yp.ClassHTTP403, "refused by the site (HTTP 403)"},
	{yp.ClassHTTP429, "told to slow down (HTTP 429)"},
	{yp.ClassChallenge, "stopped by a bot check (CAPTCHA)"},
	{yp.ClassAuthError, "login refused"},
	{yp.ClassHTTP5xx, "error of the site (HTTP 5xx)"},
	{yp.ClassParseError, "page could not be read"},
	{yp.ClassTimeout, "timed out"},
	{yp.ClassConnectionRefused, "connection failed"},
	{yp.ClassTLS, "secure connection failed (TLS)"},
	{yp.ClassDNS, "host not found"},
	{yp.ClassUnknown, "other failure"},
	{yp.ClassRateLimited, "held back by ypcrawl itself"},
}

// wordsOf says a class for people; one that is not known, as it is.
func wordsOf(class yp.ErrorClass) string {
	for _, w := range classWords {
		if w.Class == class {
			return w.Words
		}
	}
	return string(class)
}

// largestClasses are the classes of most failures, at most so many, in the order of classWords, and whether there are others.
func largestClasses(failures map[yp.ErrorClass]int64, most int) (shown []yp.ErrorClass, others bool) {
	shown = byCount(failures)
	if others = len(shown) > most; others {
		shown = shown[:most-1]
	}
	slices.SortFunc(shown, func(a, b yp.ErrorClass) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	return shown, others
}

// byCount are the classes of which there are failures, the most frequent first.
func byCount(failures map[yp.ErrorClass]int64) (all []yp.ErrorClass) {
	for class, n := range failures {
		if n > 0 {
			all = append(all, class)
		}
	}
	slices.SortFunc(all, func(a, b yp.ErrorClass) int {
		return cmp.Or(cmp.Compare(failures[b], failures[a]), cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a, b))
	})
	return all
}

func rankOf(class yp.ErrorClass) int {
	for i, w := range classWords {
		if w.Class == class {
			return i
		}
	}
	return len(classWords)
}

// keysOf are the keys of a stack of classes.
func keysOf(classes []yp.ErrorClass, others bool) (all []key) {
	for i, class := range classes {
		k := looks[i]
		k.Words = wordsOf(class)
		all = append(all, k)
	}
	if others {
		k := looks[len(looks)-1]
		k.Words = "all other failures"
		all = append(all, k)
	}
	return all
}

// stacked are the counts of the classes, and of all others.
func stacked(failures map[yp.ErrorClass]int64, classes []yp.ErrorClass, others bool) []float64 {
	values, rest := []float64{}, 0.0
	for class, n := range failures {
		if !slices.Contains(classes, class) {
			rest += float64(n)
		}
	}
	for _, class := range classes {
		values = append(values, float64(failures[class]))
	}
	if others {
		values = append(values, rest)
	}
	return values
}
