//go:build unix

package e2e

import (
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
)

// exportSteps are the points at which an export under a name is killed: around its two transactions, and in them.
var exportSteps = []string{
	"export_finished:1", string(crawl.PointInTx) + ":1", "export_intended:1", "export_named:1", string(crawl.PointInTx) + ":2", "export_counted:1",
}

// reader is somebody who gets files of exports: what each row tells is compared with what the rows before told.
type reader struct {
	*world
	db    *sql.DB
	had   map[string]string // rating of each open listing, by its id in its source
	files int
	last  string // file that an export was killed over, which nobody has read yet
}

// newReader crawls some listings, of which a reader has none.
func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{world: &world{t: t, dir: t.TempDir()}, had: map[string]string{}}
	r.must("run", "--source", "demo", "--states", "DC", "--max-cities", "1", "--categories", "Plumbers", "--max-pages", "2", "--delay", "0")
	var err error
	r.db, err = sql.Open("sqlite", filepath.Join(r.dir, "ypcrawl.db"))
	storetest.NoError(t, err)
	t.Cleanup(func() { _ = r.db.Close() })
	r.change(`UPDATE listings SET rating = 1`)
	return r
}

func (r *reader) change(statement string, args ...any) {
	r.t.Helper()
	if _, err := r.db.ExecContext(r.t.Context(), statement, args...); err != nil {
		r.t.Fatal(err)
	}
}

// something happens to a share of the listings: 1 of so many. Every rating is another one than before.
func (r *reader) something(rnd *rand.Rand, of int) {
	r.t.Helper()
	shift, now := rnd.IntN(of), "2026-11-22T00:00:00.000Z"
	const event = `INSERT INTO listing_events (at, kind, source_id, listing, company_id, what) SELECT ?, ?, source_id, id, company_id, ? FROM listings WHERE `
	switch rnd.IntN(3) {
	case 0:
		r.change(event+`dropped_at IS NULL AND id % ? = ?`, now, "dropped", "{}", of, shift)
		r.change(`UPDATE listings SET dropped_at = ? WHERE dropped_at IS NULL AND id % ? = ?`, now, of, shift)
	case 1:
		r.change(event+`dropped_at IS NOT NULL AND id % ? = ?`, now, "restored", "{}", of, shift)
		r.change(`UPDATE listings SET dropped_at = NULL WHERE id % ? = ?`, of, shift)
	default:
		r.change(event+`id % ? = ?`, now, "changed", `{"changes":[{"field":"rating"}]}`, of, shift)
		r.change(`UPDATE listings SET rating = iif(rating > 4.9, 1, rating + 0.0009765625) WHERE id % ? = ?`, of, shift)
	}
}

func (r *reader) args(file string) []string {
	return []string{"export", "-o", file, "--as", "boss", "--since", "last-export", "--only", "new,changed,dropped,restored,left", "--overwrite", "--columns", "listing_id,change,rating"}
}

// name is what the next file is called: as the last one, if that was killed and nobody has read it, or a new name.
func (r *reader) name(same bool) string {
	r.t.Helper()
	if same && r.last != "" {
		return r.last
	}
	if r.last != "" {
		r.read(r.last)
	}
	r.files++
	r.last = fmt.Sprintf("w%d.csv", r.files)
	return r.last
}

// read reads a file, if it is there, and checks that it tells nothing twice.
func (r *reader) read(file string) {
	r.t.Helper()
	r.last = ""
	f, err := os.Open(filepath.Join(r.dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	storetest.NoError(r.t, err)
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	storetest.NoError(r.t, err)
	for _, row := range rows[1:] {
		id, word, rating := row[0], row[1], row[2]
		before, had := r.had[id]
		if had == slices.Contains([]string{"new", "restored"}, word) || word == "changed" && before == rating {
			r.t.Fatalf("%s: %s is told as %s, rating %s, and was told as %q", file, id, word, rating, before)
		}
		if r.had[id] = rating; word == "dropped" {
			delete(r.had, id)
		}
	}
}

// whole exports until nothing kills it, and compares what was told by all files with what is there.
func (r *reader) whole(same bool) {
	r.t.Helper()
	file := r.name(same)
	r.must(r.args(file)...)
	r.read(file)
	r.agrees(file)
}

// agrees compares what was told by all files, of which one is the last, with what is there.
func (r *reader) agrees(file string) {
	r.t.Helper()
	rows, err := r.db.QueryContext(r.t.Context(), `SELECT listing_id, rating FROM listings WHERE dropped_at IS NULL`)
	storetest.NoError(r.t, err)
	defer func() { _ = rows.Close() }()
	stands := 0
	for ; rows.Next(); stands++ {
		var id string
		var rating float64
		storetest.NoError(r.t, rows.Scan(&id, &rating))
		if told := r.had[id]; told != strconv.FormatFloat(rating, 'f', -1, 64) {
			r.t.Fatalf("%s: %s has rating %v, and was told as %q", file, id, rating, told)
		}
	}
	storetest.NoError(r.t, rows.Err())
	if stands != len(r.had) {
		r.t.Fatalf("%s: %d listings stand, and %d were told", file, stands, len(r.had))
	}
	if n := r.count(`SELECT (SELECT count(*) FROM delivery_intents) + (SELECT count(*) FROM delivery_intent_listings)`); n != 0 {
		r.t.Fatalf("%s: %d rows of intents are left", file, n)
	}
}

// dies exports and is killed at a step, or at the end of so long a time if step is "". It reports whether it was.
func (r *reader) dies(step, file string, after time.Duration) bool {
	r.t.Helper()
	cmd := command(r.dir, []string{killAt + "=" + step}, r.args(file)...)
	if step == "" {
		storetest.NoError(r.t, cmd.Start())
		time.Sleep(after) // a random moment is what is tested
		_ = cmd.Process.Kill()
		died := killed(cmd.Wait())
		if r.count(`SELECT count(*) FROM deliveries WHERE file = '`+file+`'`) > 0 { // killed behind its last step
			r.read(file)
		}
		return died
	}
	out, err := cmd.CombinedOutput()
	if !killed(err) {
		r.t.Fatalf("%s: %v\n%s", step, err, out)
	}
	return true
}

// TestCrashDeliveries kills exports under a name at each of their steps: everything is told by one file, and never by
// two, whether the next one has another name or replaces what was killed.
func TestCrashDeliveries(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{false, true} {
		t.Run(fmt.Sprintf("same file %v", same), func(t *testing.T) {
			t.Parallel()
			r, rnd := newReader(t), rand.New(rand.NewPCG(7, 7))
			for _, step := range exportSteps {
				file := r.name(same)
				r.dies(step, file, 0)
				_, err := os.Stat(filepath.Join(r.dir, file))
				if there := err == nil; there != slices.Contains(exportSteps[3:], step) {
					t.Errorf("killed at %s, and that the file is there is %v", step, there)
				}
				r.something(rnd, 3)
				r.whole(same && step != "export_counted:1") // which was told, also if it is replaced
				r.something(rnd, 2)
			}
			r.whole(false)
		})
	}
}

// TestCrashDeliveriesThroughLink kills exports to a link, which leads to another file when the next one looks at what
// became of it.
func TestCrashDeliveriesThroughLink(t *testing.T) {
	t.Parallel()
	r, rnd := newReader(t), rand.New(rand.NewPCG(9, 9))
	const link = "latest.csv"
	day := func(n int) string {
		file := fmt.Sprintf("days/d%d.csv", n)
		_ = os.Remove(filepath.Join(r.dir, link))
		storetest.NoError(t, os.Symlink(file, filepath.Join(r.dir, link)))
		return file
	}
	storetest.NoError(t, os.Mkdir(filepath.Join(r.dir, "days"), 0o700))
	for i, step := range exportSteps {
		file := day(2 * i)
		r.dies(step, link, 0)
		r.read(file)
		r.something(rnd, 3)
		file = day(2*i + 1)
		r.must(r.args(link)...)
		r.read(file)
		r.agrees(file)
	}
}

// TestCrashDeliveriesRandom kills exports under a name at random, several times in a row, while listings change.
// All files together tell exactly what is there.
func TestCrashDeliveriesRandom(t *testing.T) {
	t.Parallel()
	r, rnd := newReader(t), rand.New(rand.NewPCG(8, 8))
	began := time.Now()
	r.whole(false)
	took := time.Since(began)
	times := orLong(deliveryKills)
	for kills := 0; kills < times; {
		r.something(rnd, 2+rnd.IntN(4))
		same := rnd.IntN(2) == 0
		for rnd.IntN(4) > 0 && kills < times {
			step := ""
			if rnd.IntN(2) == 0 {
				step = exportSteps[rnd.IntN(len(exportSteps)-1)]
			}
			file := r.name(same)
			if !r.dies(step, file, time.Duration(rnd.Int64N(int64(took)))) {
				break
			}
			kills++
		}
		r.whole(same)
	}
	t.Logf("%d kills, %d files", times, r.files)
}
