package report

import (
	"database/sql"
	"os"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Reader answers questions about one database.
type Reader struct {
	db   *store.DB
	host string
}

// New returns a Reader over db.
func New(db *store.DB) *Reader {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Reader{db: db, host: host}
}

// where is a scope as a condition on targets t.
const where = store.InScope

// at scans a time that may be NULL into t: the zero time. One that can't be read
// is zero, too: whoever looks at a database must see the rest of it.
func at(t *time.Time) sql.Scanner { return instant{t} }

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
