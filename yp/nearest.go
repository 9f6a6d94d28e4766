package yp

import "strings"

// maxNearest bounds the work of Nearest: nobody mistypes a longer word.
const maxNearest = 64

// Nearest returns the candidate that word was most likely meant to be, for
// "did you mean" hints: the one with the smallest edit distance, letter case
// aside, where a swap of neighbours counts once. Of equals the one with the
// same first letter wins, then the earliest. ok is false when all are further
// than a third of the word (at least one edit) away.
func Nearest(word string, candidates []string) (string, bool) {
	w := []rune(strings.ToLower(word))
	if len(word) > maxNearest*4 || len(w) > maxNearest || len(w) == 0 {
		return "", false
	}
	best, bestCost := "", 2*max(1, len(w)/3)+2
	for _, c := range candidates {
		r := []rune(strings.ToLower(c))
		if len(r) > maxNearest || len(r) == 0 {
			continue
		}
		cost := 2 * editDistance(w, r)
		if r[0] != w[0] {
			cost++
		}
		if cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best, best != ""
}

// editDistance is the optimal string alignment distance of a and b: insertions,
// deletions, replacements and swaps of neighbours.
func editDistance(a, b []rune) int {
	var rows [3][maxNearest + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
