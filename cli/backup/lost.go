package backup

import (
	"fmt"
	"strings"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// Lost is what the logs of a database had and have no more, and no crawl has read again since.
type Lost struct {
	Logs     []wal.Loss `json:"logs"`
	Pages    int64      `json:"pages"`
	Listings int64      `json:"listings"` // on those pages
}

// unseen asks for what was read by a log that was lost, and by no later one.
const unseen = `SELECT EXISTS (SELECT 1 FROM listings WHERE last_seen_at BETWEEN ?1 AND ?2)
	OR EXISTS (SELECT 1 FROM listings WHERE own_page_at BETWEEN ?1 AND ?2)`

// LostLogs looks for what can't be rebuilt from the logs in a folder of the database that is read, and whose id is given.
func LostLogs(q store.Querier, id, dir string) (lost Lost, err error) {
	all, err := wal.Losses(dir)
	for _, l := range all {
		if l.Database != id {
			continue
		}
		only, err := store.Column[bool](q, unseen, yp.FormatTime(l.Since), yp.FormatTime(l.At))
		if err != nil {
			return lost, fmt.Errorf("look for what the logs have lost: %w", err)
		}
		if only[0] {
			lost.add(l)
		}
	}
	return lost, err
}

func (l *Lost) add(of wal.Loss) {
	l.Logs = append(l.Logs, of)
	l.Pages, l.Listings = l.Pages+of.Pages, l.Listings+of.Listings
}

// Files says what happened to which file, for the last few of them.
func (l *Lost) Files() string {
	const most = 3
	var texts []string
	for _, x := range l.Logs[max(0, len(l.Logs)-most):] {
		texts = append(texts, fmt.Sprintf("%s %s at %s, while it was being written", yp.Printable(x.File), x.How,
			x.At.UTC().Format(yp.DayTime)))
	}
	if more := len(l.Logs) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}
