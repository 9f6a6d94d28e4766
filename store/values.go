package store

import (
	"database/sql"
	"strconv"
	"time"

	"ypcrawl/yp"
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
	return yp.JSONList(items)
}

func list(items []string) any {
	if len(items) == 0 {
		return nil
	}
	return yp.JSONList(items)
}

func count(n int) any {
	if n <= 0 {
		return nil
	}
	return int64(n)
}

// Instant scans a time that may be NULL into t: the zero time. One that can't be read is
// zero, too: whoever looks at a database must see the rest of it.
func Instant(t *time.Time) sql.Scanner { return instant{t} }

type instant struct{ t *time.Time }

// Scan implements sql.Scanner.
func (i instant) Scan(v any) error {
	*i.t = time.Time{}
	if s, ok := v.(string); ok {
		if parsed, err := yp.ParseTime(s); err == nil {
			*i.t = parsed
		}
	}
	return nil
}
