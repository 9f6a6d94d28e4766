//go:build unix

package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
)

// TestCrashDeliveries kills exports under a name in the transaction that makes them count, when the file has its
// name already. The next one tells the same, and what came since; never less, and nothing twice when it has ended.
func TestCrashDeliveries(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: t.TempDir()}
	dir := w.dir
	export := func(file string) []string {
		return []string{"export", "-o", file, "--as", "boss", "--since", "last-export", "--only", "new,changed,closed,restored,left", "--overwrite", "--min-rating", "1"}
	}
	read := func(file string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, file))
		storetest.NoError(t, err)
		return string(data)
	}
	w.must("run", "--source", "demo", "--states", "DC", "--max-cities", "1", "--categories", "Plumbers", "--max-pages", "2", "--delay", "0")
	db, err := sql.Open("sqlite", filepath.Join(dir, "ypcrawl.db"))
	storetest.NoError(t, err)
	defer func() { _ = db.Close() }()
	change := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for week, changes := range []string{
		`UPDATE listings SET rating = 3`,
		`UPDATE listings SET rating = iif(id % 3 = 0, NULL, 4)`,
		`UPDATE listings SET rating = 4.5, dropped_at = iif(id % 5 = 0, '2026-11-22T00:00:00.000Z', NULL)`,
	} {
		change(changes)
		change(`INSERT INTO listing_events (at, kind, source_id, listing, company_id, what)
			SELECT '2026-11-22T00:00:00.000Z', 'changed', source_id, id, company_id, '{"changes":[{"field":"rating"}]}' FROM listings`)
		points := 0
		for ; ; points++ {
			file := fmt.Sprintf("w%d-%d.csv", week, points)
			cmd := command(dir, []string{fmt.Sprintf("%s=%s:%d", killAt, crawl.PointInTx, points+1)}, export(file)...)
			out, err := cmd.CombinedOutput()
			if err == nil {
				break
			}
			if !killed(err) {
				t.Fatalf("week %d, point %d: %v\n%s", week, points, err, out)
			}
			_, err = os.Stat(filepath.Join(dir, file))
			if there := err == nil; there != (points == 0) {
				t.Errorf("week %d: killed in transaction %d, and that the file is there is %v", week, points+1, there)
			}
		}
		if points != 1 { // complete
			t.Errorf("week %d: killed in %d transactions", week, points)
		}
		published, last := read(fmt.Sprintf("w%d-0.csv", week)), read(fmt.Sprintf("w%d-1.csv", week))
		if published != last || strings.Count(last, "\n") < 3 {
			t.Errorf("week %d: what was killed told\n%s\nand the next one\n%s", week, published, last)
		}
		w.must(export("again.csv")...)
		if again := read("again.csv"); strings.Count(again, "\n") != 1 {
			t.Errorf("week %d: told again:\n%s", week, again)
		}
	}
	var has, open int
	err = db.QueryRowContext(t.Context(), `SELECT count(*), (SELECT count(*) FROM listings WHERE dropped_at IS NULL) FROM delivered WHERE state = 'open'`).Scan(&has, &open)
	if err != nil || has != open || open == 0 {
		t.Errorf("boss has %d open listings, and %d stand, %v", has, open, err)
	}
}
