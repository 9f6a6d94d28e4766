package kept

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/wal"
	"ypcrawl/yp"
)

var day1 = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// clock is a time that a test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

var reading = &Reading{Source: "demo", BaseURL: "http://127.0.0.1:1/", Definition: "name: demo\n", Filter: json.RawMessage(`{}`)}

// write opens a Writer, hands it to do and closes it.
func write(t *testing.T, cfg Config, do func(*Writer)) {
	t.Helper()
	if cfg.Days == 0 {
		cfg.Days = 30
	}
	cfg.Run, cfg.MaxBytes = cmp.Or(cfg.Run, "run1"), cmp.Or(cfg.MaxBytes, 64<<20)
	w, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	do(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func page(city string, number int, at time.Time) Page {
	return Page{
		Target: wal.Target{Source: "demo", Kind: yp.KindSearch, Place: yp.Place{CitySlug: city, CategorySlug: "plumbers"}},
		Number: number, URL: "http://127.0.0.1:1/" + city, FetchedAt: at, Status: 200, Outcome: "ok",
	}
}

// body is a page as a site makes it: much that all have, and something of its own.
func body(n int) []byte {
	own := rand.New(rand.NewPCG(1, uint64(n)))
	var b bytes.Buffer
	b.WriteString("<html><head><style>" + strings.Repeat(".card{color:#123;margin:1px}", 50) + "</style></head><body>")
	for range 30 {
		fmt.Fprintf(&b, `<div class="result" data-ypid="%d"><a class="business-name" href="/mip/%d">Plumber %x</a><span class="phone">(%d) 555-%04d</span></div>`,
			own.IntN(1e9), own.IntN(1e9), own.Uint64(), 200+own.IntN(700), own.IntN(10000))
	}
	b.WriteString("</body></html>")
	return b.Bytes()
}

// all reads the pages that choose lets pass.
func all(t *testing.T, dir string, choose func(*Page) bool) (got map[string]string, r *Reader) {
	t.Helper()
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if choose == nil {
		choose = func(*Page) bool { return true }
	}
	entries, _, err := r.Newest(choose)
	if err != nil {
		t.Fatal(err)
	}
	got = map[string]string{}
	for _, e := range entries {
		p, how, b, err := r.Read(e)
		if errors.Is(err, ErrDamaged) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if how.Definition != reading.Definition {
			t.Errorf("reading = %+v", how)
		}
		got[fmt.Sprintf("%s/%d", p.CitySlug, p.Number)] = string(b)
	}
	return got, r
}

func only(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+extension))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	return names[0]
}

func TestKeepAndRead(t *testing.T) {
	t.Parallel()
	t.Run("the newest of each target and number", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, Config{Dir: dir}, func(w *Writer) {
			w.Keep(page("b", 2, day1), reading, body(1))
			w.Keep(page("b", 1, day1), reading, body(2))
			w.Keep(page("a", 1, day1.Add(time.Second)), reading, body(3))
		})
		write(t, Config{Dir: dir, Run: "run2"}, func(w *Writer) {
			w.Keep(page("b", 1, day1.Add(time.Hour)), reading, body(4))
		})
		got, _ := all(t, dir, nil)
		want := map[string]string{"b/1": string(body(4)), "b/2": string(body(1)), "a/1": string(body(3))}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("page %s has %d bytes, want %d", k, len(got[k]), len(v))
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d pages", len(got))
		}
		if got, _ := all(t, dir, func(p *Page) bool { return p.FetchedAt.Before(day1.Add(time.Minute)) }); got["b/1"] != string(body(2)) {
			t.Error("the newest of those that were chosen is another one")
		}
	})
	t.Run("dictionaries serve the next run", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		const n = sampleCount + 20
		size := func() int64 { n, _, err := Usage(dir); noErr(t, err); return n }
		write(t, Config{Dir: dir}, func(w *Writer) {
			for i := range n {
				w.Keep(page("a", i+1, day1), reading, body(i))
			}
		})
		before := size()
		write(t, Config{Dir: dir, Run: "run2"}, func(w *Writer) {
			for i := range n {
				w.Keep(page("b", i+1, day1), reading, body(i))
			}
		})
		got, r := all(t, dir, nil)
		for i := range n {
			if got[fmt.Sprintf("b/%d", i+1)] != string(body(i)) {
				t.Fatal("page", i+1)
			}
		}
		if len(r.dicts) != 1 || size()-before >= before {
			t.Errorf("%d dictionaries, and %d bytes after the first %d", len(r.dicts), size()-before, before)
		}
	})
	t.Run("many write at once", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, Config{Dir: dir}, func(w *Writer) {
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for j := range 10 {
						w.Keep(page(fmt.Sprint(i), j+1, day1), reading, body(i*10+j))
					}
				})
			}
			wg.Wait()
		})
		if got, _ := all(t, dir, nil); len(got) != 40 {
			t.Errorf("%d pages", len(got))
		}
	})
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTornAndDamaged cuts a segment at every byte, and changes every byte of it.
func TestTornAndDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small := func(n int) []byte { return []byte(strings.Repeat(fmt.Sprint("page ", n, " "), 8)) }
	write(t, Config{Dir: dir}, func(w *Writer) {
		for n := range 3 {
			w.Keep(page("a", n+1, day1), reading, small(n+1))
		}
	})
	path := only(t, dir)
	whole, err := os.ReadFile(path)
	noErr(t, err)
	pages := func(b []byte) (ends []int, damaged int64) {
		damaged, err := scan(bytes.NewReader(b), int64(len(b)), func(r record) error {
			if _, err := r.body(bytes.NewReader(b)); r.kind == kindPage && err == nil {
				ends = append(ends, int(r.end()))
			}
			return nil
		})
		noErr(t, err)
		return ends, damaged
	}
	ends, _ := pages(whole)
	for cut := range len(whole) {
		got, damaged := pages(whole[:cut])
		want := 0
		for want < len(ends) && ends[want] <= cut {
			want++
		}
		if len(got) != want || damaged > 0 {
			t.Fatalf("cut at %d of %d: %d pages, %d bytes damaged; want %d and none", cut, len(whole), len(got), damaged, want)
		}
	}
	first := bytes.Index(whole, []byte(magic+string(rune(kindPage))))
	for at := range len(whole) {
		b := slices.Clone(whole)
		b[at] ^= 0x15
		got, damaged := pages(b)
		if want := 3; at < first && len(got) != want || at >= first && len(got) != want-1 || damaged > int64(len(b)) {
			t.Fatalf("byte %d of %d changed: %d pages are read, %d bytes damaged", at, len(whole), len(got), damaged)
		}
		if at%64 != 0 && at != ends[2]-1 {
			continue
		}
		noErr(t, os.WriteFile(path, b, 0o600))
		whats, r := all(t, dir, nil)
		if len(whats) > 2 && at >= first {
			t.Fatalf("byte %d of %d changed: %d pages, %d bytes damaged", at, len(whole), len(whats), r.Damaged)
		}
		for k, v := range whats {
			if v != string(small(int(k[2]-'0'))) {
				t.Fatalf("byte %d changed: page %s is another one", at, k)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	noise := func(n int) []byte { // that can't be compressed
		b := make([]byte, 100<<10)
		r := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)})
		_, _ = r.Read(b)
		return b
	}
	t.Run("size: the oldest go first, and it says so", func(t *testing.T) {
		t.Parallel()
		dir, c, logged := t.TempDir(), &clock{day1}, &bytes.Buffer{}
		const limit = 8 << 20
		write(t, Config{Dir: dir, MaxBytes: limit, Now: c.now, Logger: zerolog.New(logged)}, func(w *Writer) {
			for n := range 120 {
				c.t = c.t.Add(time.Second)
				w.Keep(page("a", n+1, c.t), reading, noise(n))
				if used, _, err := Usage(dir); err != nil || used > limit {
					t.Fatalf("after %d pages %d bytes are kept, want at most %d (%v)", n+1, used, limit, err)
				}
			}
		})
		got, _ := all(t, dir, nil)
		if got["a/120"] != string(noise(119)) || got["a/1"] != "" || len(got) < 50 {
			n, files, _ := Usage(dir)
			t.Errorf("%d pages are left: %d bytes in %d files", len(got), n, files)
		}
		if !strings.Contains(logged.String(), "--keep-pages-size") {
			t.Errorf("it did not say that pages went: %s", logged)
		}
	})
	t.Run("what is somebody else's stays", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		other := filepath.Join(dir, "my_own_text"+extension)
		noErr(t, os.WriteFile(other, []byte("ours"), 0o600))
		noErr(t, os.Chtimes(other, time.Time{}, day1.AddDate(-1, 0, 0)))
		write(t, Config{Dir: dir, Days: 1}, func(*Writer) {})
		if _, err := os.Stat(other); err != nil {
			t.Error(err)
		}
	})
	t.Run("days", func(t *testing.T) {
		t.Parallel()
		dir, logged := t.TempDir(), &bytes.Buffer{}
		for n := range 3 {
			run := fmt.Sprint("run", n)
			at := time.Now().AddDate(0, 0, n-4)
			write(t, Config{Dir: dir, Run: run, Now: func() time.Time { return at }}, func(w *Writer) { w.Keep(page("a", n+1, at), reading, body(n)) })
			segs, err := segments(dir)
			noErr(t, err)
			noErr(t, os.Chtimes(segs[n].path, at, at))
		}
		write(t, Config{Dir: dir, Run: "last", Days: 3, Alive: func(run string) (bool, error) { return run == "run0", nil }, Logger: zerolog.New(logged)}, func(*Writer) {})
		got, _ := all(t, dir, nil)
		if got["a/1"] == "" || got["a/2"] != "" || got["a/3"] == "" || logged.Len() > 0 {
			t.Errorf("%d pages, %s", len(got), logged)
		}
		write(t, Config{Dir: dir, Run: "later", Days: 3}, func(*Writer) {})
		if got, _ := all(t, dir, nil); got["a/1"] != "" || got["a/3"] == "" {
			t.Errorf("%d pages are left of an ended run", len(got))
		}
	})
	t.Run("a day", func(t *testing.T) {
		t.Parallel()
		dir, c := t.TempDir(), &clock{day1}
		write(t, Config{Dir: dir, Now: c.now}, func(w *Writer) {
			w.Keep(page("a", 1, c.t), reading, body(1))
			c.t = c.t.Add(25 * time.Hour)
			w.Keep(page("a", 2, c.t), reading, body(2))
		})
		if _, files, err := Usage(dir); err != nil || files != 2 {
			t.Errorf("%d files, %v", files, err)
		}
	})
	t.Run("living runs take all", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, Config{Dir: dir}, func(w *Writer) { w.Keep(page("a", 1, day1), reading, noise(1)) })
		_, err := Open(Config{Dir: dir, Run: "run2", Days: 1, MaxBytes: 1000, Alive: func(string) (bool, error) { return true, nil }})
		if err == nil || !strings.Contains(err.Error(), "runs under way already keep") {
			t.Errorf("err = %v", err)
		}
	})
}

// fullFile takes so many bytes and then no more.
type fullFile struct {
	*os.File
	left int
}

func (f *fullFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b[:min(len(b), f.left)])
	f.left -= n
	if err == nil && n < len(b) {
		err = syscall.ENOSPC
	}
	return n, err
}

// TestLargeHeaders: a definition may be larger than a header, and a page whose address is as
// large is the only one that is not kept.
func TestLargeHeaders(t *testing.T) {
	t.Parallel()
	dir, logged := t.TempDir(), &bytes.Buffer{}
	long := *reading
	long.Definition += "# " + strings.Repeat("x", 2*maxHeader)
	write(t, Config{Dir: dir, Logger: zerolog.New(logged).Level(zerolog.WarnLevel)}, func(w *Writer) {
		w.Keep(page("a", 1, day1), &long, body(1))
		far := page("a", 2, day1)
		far.URL = strings.Repeat("u", 2*maxHeader)
		w.Keep(far, &long, body(2))
		w.Keep(page("a", 3, day1), &long, body(3))
	})
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	entries, _, err := r.Newest(func(*Page) bool { return true })
	if err != nil || len(entries) != 2 || logged.Len() > 0 {
		t.Fatalf("%d pages, %v; %s", len(entries), err, logged)
	}
	for _, e := range entries {
		if _, how, _, err := r.Read(e); err != nil || how.Definition != long.Definition {
			t.Errorf("page %d: %v", e.number, err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	t.Run("a write fails", func(t *testing.T) {
		t.Parallel()
		dir, logged := t.TempDir(), &bytes.Buffer{}
		cfg := Config{Dir: dir, Logger: zerolog.New(logged), open: func(path string) (file, error) {
			f, err := os.Create(path)
			return &fullFile{f, 5000}, err
		}}
		write(t, cfg, func(w *Writer) {
			for n := range 20 {
				w.Keep(page("a", n+1, day1), reading, body(n))
			}
		})
		got, r := all(t, dir, nil)
		if got["a/1"] != string(body(0)) || len(got) == 20 || r.Damaged > 0 {
			t.Errorf("%d pages, %d bytes damaged", len(got), r.Damaged)
		}
		if n := strings.Count(logged.String(), "\n"); n != 1 || !strings.Contains(logged.String(), "no space left") {
			t.Errorf("warned %d times: %s", n, logged)
		}
	})
	t.Run("little is left", func(t *testing.T) {
		t.Parallel()
		dir, logged := t.TempDir(), &bytes.Buffer{}
		write(t, Config{Dir: dir, Logger: zerolog.New(logged), Free: func(string) (int64, error) { return 100 << 20, nil }}, func(w *Writer) {
			w.Keep(page("a", 1, day1), reading, body(1))
		})
		if _, files, _ := Usage(dir); files != 0 || !strings.Contains(logged.String(), "100 MB are left") {
			t.Errorf("%d files: %s", files, logged)
		}
	})
}

// TestDictionary: pages of the size that directories have make a dictionary.
func TestDictionary(t *testing.T) {
	t.Parallel()
	pages := demoPages(t, resultPaths()[:24])
	dict := buildDict(pages[:sampleCount])
	if dict == nil {
		t.Fatal("there is none")
	}
	dir := t.TempDir()
	size := func(run string, from, to int) int64 {
		write(t, Config{Dir: dir, Run: run}, func(w *Writer) {
			for i := from; i < to; i++ {
				w.Keep(page("a", i+1, day1), reading, pages[i])
			}
		})
		size, _, err := Usage(dir)
		noErr(t, err)
		return size
	}
	one := size("run1", 0, sampleCount)
	two := size("run2", 0, sampleCount+1)
	if two <= one {
		t.Errorf("%d bytes, then %d", one, two)
	}
	three := size("run3", 0, sampleCount)
	if three-two >= one {
		t.Errorf("%d bytes without a dictionary, %d with one that is learned", one, three-two)
	}
	if got, _ := all(t, dir, nil); got["a/3"] != string(pages[2]) {
		t.Error("a page is another one")
	}
}

func FuzzReader(f *testing.F) {
	dir := f.TempDir()
	w, err := Open(Config{Dir: dir, Run: "run1", Days: 1, MaxBytes: 1 << 30})
	if err != nil {
		f.Fatal(err)
	}
	for n := range sampleCount + 2 {
		w.Keep(page("a", n+1, day1), reading, body(n)[:2000])
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	segs, err := segments(dir)
	if err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(segs[0].path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(magic + "P\xff\xff\xff\x00\xff\xff\xff\x03 and so on"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		noErr(t, os.WriteFile(filepath.Join(dir, "20261120T120000.000Z_000001_run1"+extension), b, 0o600))
		r, err := OpenReader(dir)
		noErr(t, err)
		defer func() { _ = r.Close() }()
		entries, _, err := r.Newest(func(*Page) bool { return true })
		noErr(t, err)
		for _, e := range entries {
			if p, _, body, err := r.Read(e); err == nil && len(body) != p.Size {
				t.Errorf("a page of %d bytes has %d", p.Size, len(body))
			} else if err != nil && !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
		}
	})
}
