package store

import (
	"encoding/json"
	"strconv"
)

// JSONInts writes numbers as a JSON array for json_each.
func JSONInts(ids []int64) string {
	b := make([]byte, 0, 2+len(ids)*8)
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// JSONTexts writes texts as a JSON array for json_each; none is "[]".
func JSONTexts[T ~string](items []T) string {
	if len(items) == 0 {
		return "[]"
	}
	b, err := json.Marshal(items)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(b)
}

func list(items []string) any {
	if len(items) == 0 {
		return nil
	}
	return JSONTexts(items)
}

// stars stores a rating; one off the scale, or absent, is no rating.
func stars(f float64) any {
	if f >= 0.5 && f <= 5 {
		return f
	}
	return nil
}

func count(n int) any {
	if n <= 0 {
		return nil
	}
	return int64(n)
}

func flag(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}
