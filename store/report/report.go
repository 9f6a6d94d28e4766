package report

import (
	"database/sql"
	"os"
	"time"

	"ypcrawl/store"
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

// at scans a time that may be NULL into t.
func at(t *time.Time) sql.Scanner { return store.Instant(t) }
