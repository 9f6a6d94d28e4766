package store

import (
	"encoding/json"
	"strconv"
)

// intList writes numbers as a JSON array for json_each.
func intList(ids []int64) string {
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

func list(items []string) any {
	if len(items) == 0 {
		return nil
	}
	b, err := json.Marshal(items)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(b)
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
