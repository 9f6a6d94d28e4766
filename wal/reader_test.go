package wal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"ypcrawl/store/storetest"
)

// line is one line of a log, at a second after noon.
func textLine(worker string, seq, second int, kind EventType) string {
	e := Event{Timestamp: noon.Add(time.Duration(second) * time.Second), WorkerID: worker, Seq: int64(seq), Type: kind}
	return string(lineOf(&e)) + "\n"
}

func writeLines(t testing.TB, dir, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	writeFile(t, path, []byte(strings.Join(lines, "")))
	return path
}

func pack(t testing.TB, text []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	noErr(t, compressText(t.Context(), &packed, bytes.NewReader(text), func(packStep) {}))
	return packed.Bytes()
}

// packForeign compresses as the zstd program does: one frame of any size.
func packForeign(t testing.TB, text []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	enc, err := zstd.NewWriter(&packed)
	noErr(t, err)
	if _, err = enc.Write(text); err != nil {
		t.Fatal(err)
	}
	noErr(t, enc.Close())
	return packed.Bytes()
}

func corrupt(t testing.TB, err error) *CorruptError {
	t.Helper()
	c, ok := errors.AsType[*CorruptError](err)
	if !ok {
		t.Fatalf("not a CorruptError: %v", err)
	}
	return c
}

func TestOpenReader(t *testing.T) {
	t.Parallel()
	t.Run("a missing folder is a clear error", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "none")
		_, err := OpenReader(path, Options{})
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("a file that is no log", func(t *testing.T) {
		for _, name := range []string{"ypcrawl.db", "w.jsonl.zst.tmp", ".jsonl"} {
			if _, err := OpenReader(writeLines(t, t.TempDir(), name), Options{}); err == nil {
				t.Errorf("opened %s", name)
			}
		}
	})
	t.Run("a folder without logs has no events", func(t *testing.T) {
		dir := t.TempDir()
		writeLines(t, dir, "notes.txt", "x")
		writeLines(t, dir, "w.jsonl.zst.tmp", "x")
		noErr(t, os.Mkdir(filepath.Join(dir, "folder.jsonl"), 0o755))
		wantSeqs(t, dir, 0)
	})
	t.Run("after Close", func(t *testing.T) {
		dir := t.TempDir()
		writeLines(t, dir, "w.jsonl", textLine("w", 1, 1, Stop), textLine("w", 2, 2, Stop), textLine("w", 3, 3, Stop))
		r, err := OpenReader(dir, Options{})
		noErr(t, err)
		n := 0
		for _, err := range r.Events() {
			if n++; n == 1 {
				err = errors.Join(err, r.Close())
			}
			noErr(t, err)
		}
		storetest.Equal(t, n, 1, "events")
	})
}

func TestReaderOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b, c := "worker_2_pid_9", "worker_10_pid_9", "zz"
	writeLines(t, dir, c+".jsonl", textLine(c, 1, 5, Stop))
	writeLines(t, dir, b+".jsonl", textLine(b, 1, 1, Stop), textLine(b, 2, 5, Stop), textLine(b, 3, 5, Stop))
	writeFile(t, filepath.Join(dir, a+".jsonl.zst"), pack(t, []byte(textLine(a, 1, 2, Stop))))
	writeLines(t, dir, a+".000001.jsonl", textLine(a, 2, 5, Stop), textLine(a, 3, 3, Stop)) // the clock was set back
	writeLines(t, dir, a+".000010.jsonl", textLine(a, 4, 9, Stop))
	writeLines(t, dir, a+".000002.jsonl")
	events, damage, torn := readAll(t, dir, Options{})
	got := make([]string, 0, len(events))
	for _, e := range events {
		got = append(got, e.WorkerID+" "+string(rune('0'+e.Seq)))
	}
	want := []string{b + " 1", a + " 1", b + " 2", b + " 3", a + " 2", a + " 3", c + " 1", a + " 4"}
	if !slices.Equal(got, want) || len(damage)+len(torn) > 0 {
		t.Fatalf("got %q, damage %v, torn %v", got, damage, torn)
	}
}

func TestReaderTakesEachPartOnce(t *testing.T) {
	t.Parallel()
	const w = "worker_0_pid_1"
	text := textLine(w, 1, 1, Stop) + textLine(w, 2, 2, Stop)
	for name, packed := range map[string][]byte{
		"a complete copy": pack(t, []byte(text)), "half a copy": pack(t, []byte(text))[:20], "an empty copy": nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeLines(t, dir, w+".jsonl", text)
			writeFile(t, filepath.Join(dir, w+".jsonl.zst"), packed)
			writeFile(t, filepath.Join(dir, w+".jsonl.zst.tmp"), packed)
			wantSeqs(t, dir, 2)
		})
	}
	t.Run("a part compressed after it was listed", func(t *testing.T) {
		dir := t.TempDir()
		path := writeLines(t, dir, w+".jsonl", text)
		r, err := OpenReader(dir, Options{})
		noErr(t, err)
		compress(t, dir)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal("not compressed")
		}
		want := int64(0)
		for e, err := range r.Events() {
			if want++; err != nil || e.Seq != want {
				t.Fatal(e, err)
			}
		}
		storetest.Equal(t, want, 2, "events")
	})
}

func TestBadLines(t *testing.T) {
	t.Parallel()
	one, two, three := textLine("w", 1, 1, Stop), textLine("w", 2, 2, Stop), textLine("w", 3, 3, Stop)
	for name, c := range map[string]struct {
		lines  []string
		seqs   []int64
		damage []int // line numbers
		torn   bool
	}{
		"garbage in the middle":     {[]string{one, "garbage\n", two}, []int64{1, 2}, []int{2}, false},
		"garbage at the start":      {[]string{"\x00\xff\n", one}, []int64{1}, []int{1}, false},
		"half a line with an end":   {[]string{one, two[:30] + "\n", three}, []int64{1, 3}, []int{2}, false},
		"two in one line":           {[]string{one, strings.TrimSpace(two) + three}, []int64{1}, []int{2}, false},
		"blank lines":               {[]string{"\n", one, "  \n\r\n", two}, []int64{1, 2}, nil, false},
		"CRLF":                      {[]string{strings.ReplaceAll(one+two, "\n", "\r\n")}, []int64{1, 2}, nil, false},
		"a huge line":               {[]string{one, strings.Repeat("x", 2000) + "\n", two}, []int64{1, 2}, []int{2}, false},
		"torn":                      {[]string{one, two[:40]}, []int64{1}, nil, true},
		"whole but for its newline": {[]string{one, strings.TrimSpace(two)}, []int64{1}, nil, true},
		"torn and huge":             {[]string{one, strings.Repeat("x", 200_000)}, []int64{1}, nil, true},
		"empty":                     {nil, nil, nil, false},
	} {
		for _, packed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				text := strings.Join(c.lines, "")
				path := filepath.Join(t.TempDir(), "w.jsonl")
				if packed {
					path += ".zst"
					writeFile(t, path, pack(t, []byte(text)))
				} else {
					writeFile(t, path, []byte(text))
				}
				events, damage, torn := readAll(t, path, Options{MaxLine: 1000})
				var seqs []int64
				for _, e := range events {
					seqs = append(seqs, e.Seq)
				}
				var lines []int
				for _, err := range damage {
					d := corrupt(t, err)
					if lines = append(lines, d.Line); d.File != path || strings.Count(text[:d.Offset], "\n") != d.Line-1 {
						t.Errorf("misplaced: %+v", d)
					}
				}
				if !slices.Equal(seqs, c.seqs) || !slices.Equal(lines, c.damage) || (len(torn) == 1) != c.torn {
					t.Fatalf("events %v, damage %v, torn %v", seqs, damage, torn)
				}
			})
		}
	}
}

func TestTornLineInTheMiddle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeLines(t, dir, "w.jsonl", textLine("w", 1, 1, Stop), `{"time`)
	writeLines(t, dir, "w.000001.jsonl", textLine("w", 2, 2, Stop))
	events, damage, torn := readAll(t, dir, Options{})
	if wantConsecutive(t, events, 2); len(damage) != 1 || len(torn) != 0 {
		t.Fatal(damage, torn)
	}
	if d := corrupt(t, damage[0]); filepath.Base(d.File) != "w.jsonl" || d.Line != 2 {
		t.Fatal(d)
	}
}

// manyLines is a text of several frames.
func manyLines() []byte {
	var text []byte
	for i := range 5000 {
		e := samplePage(1)
		e.Timestamp, e.WorkerID, e.Seq = noon, "w", int64(i+1)
		e.Page.Listings[0].Snippet = strings.Repeat(string(rune('a'+i%26)), i%50)
		text = append(append(text, lineOf(e)...), '\n')
	}
	return text
}

func TestDamagedCompressedFile(t *testing.T) {
	t.Parallel()
	text := manyLines()
	packed := pack(t, text)
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0xff
		return b
	}
	for name, c := range map[string]struct {
		data     []byte
		min, max int // events of 5000
	}{
		"cut":                               {packed[:len(packed)*3/4], 2000, 4500},
		"a flipped byte":                    {flip(packed, len(packed)/2), 1000, 4999},
		"a flipped byte at the end":         {flip(packed, len(packed)-1), 3000, 4999},
		"the first magic":                   {flip(packed, 0), 0, 0},
		"a stretch of zeros":                {append(append(bytes.Clone(packed[:len(packed)/2]), make([]byte, 5000)...), packed[len(packed)/2+5000:]...), 1000, 4999},
		"only the last checksum is missing": {packed[:len(packed)-2], 3000, 4999},
		"garbage":                           {[]byte("no zstd at all, really"), 0, 0},
		"a foreign file, cut":               {packForeign(t, text)[:len(packed)/2], 1000, 4500},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "w.jsonl.zst"), c.data)
			writeLines(t, dir, "w.000001.jsonl", textLine("w", 9999, 1, Stop))
			events, damage, _ := readAll(t, dir, Options{})
			if len(damage) != 1 {
				t.Fatal(damage)
			}
			var given []byte
			for _, e := range events[:len(events)-1] {
				given = append(append(given, lineOf(e)...), '\n')
			}
			if at := corrupt(t, damage[0]).Position; filepath.Base(at.File) != "w.jsonl.zst" || at.Line != len(events) || at.Offset != int64(len(given)) {
				t.Fatalf("%+v: want the place behind the last line that was read", at)
			}
			storetest.Equal(t, events[len(events)-1].Seq, 9999, "the next file")
			if n := len(events) - 1; n < c.min || n > c.max {
				t.Fatalf("%d events, damage %v", n, damage)
			}
			if !bytes.HasPrefix(text, given) {
				t.Fatal("damage has changed an event")
			}
		})
	}
}

func TestCompressedForms(t *testing.T) {
	t.Parallel()
	text := manyLines()
	huge := samplePage(1)
	huge.Timestamp, huge.WorkerID, huge.Seq = noon, "w", 5001
	huge.Error = strings.Repeat("0123456789", 1<<20)
	text = append(append(text, lineOf(huge)...), '\n')
	skippable := append([]byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc"), pack(t, text)...)
	for name, packed := range map[string][]byte{"ours": pack(t, text), "foreign": packForeign(t, text), "skippable": skippable} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "w.jsonl.zst")
			writeFile(t, path, packed)
			wantSeqs(t, path, 5001)
		})
	}
}

// Thousands of dead workers' logs are read with a few open files.
func TestManyWorkersFewFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const workers = 300
	for i := range workers {
		id := "worker_0_pid_" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		writeLines(t, dir, id+".jsonl", textLine(id, 1, 2*i, TargetStart), textLine(id, 2, 2*i+1, Stop))
	}
	r, err := OpenReader(dir, Options{})
	noErr(t, err)
	most, n := 0, 0
	var last time.Time
	for e, err := range r.Events() {
		if err != nil || e.Timestamp.Before(last) {
			t.Fatal(e, err)
		}
		last = e.Timestamp
		open := 0
		for _, s := range r.streams {
			if s.seg != nil {
				open++
			}
		}
		most, n = max(most, open), n+1
	}
	if n != 2*workers || most > 3 {
		t.Fatalf("%d events, up to %d files open", n, most)
	}
}

// TestReaderSkips: lines of other databases are passed over, and listings where nobody wants them.
func TestReaderSkips(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, id := range []string{"1", "2"} {
		log := create(t, Config{Dir: dir, WorkerID: "worker_" + id + "_pid_1", Database: id})
		noErr(t, log.Append(samplePage(2+i)))
	}
	events, _, _ := readAll(t, dir, Options{Databases: []string{"2"}})
	if len(events) != 1 || len(events[0].Page.Listings) != 3 {
		t.Fatal(events)
	}
	want, _, _ := readAll(t, dir, Options{})
	for _, e := range want {
		e.Page.Listings = nil
	}
	events, _, _ = readAll(t, dir, Options{SkipListings: true})
	if diff := cmp.Diff(want, events); diff != "" || len(events) != 2 {
		t.Fatal(diff)
	}
}

// Whatever is in a file: reading ends, accounts for every line, and what
// it takes for an event can be written and read again.
func FuzzReader(f *testing.F) {
	good := textLine("w", 1, 1, Stop)
	f.Add([]byte(good+"\n\r\nbad\n"+good[:20]), false)
	f.Add([]byte(strings.Repeat(good, 3)), true)
	f.Add(pack(f, []byte(good+good)), true)
	f.Fuzz(func(t *testing.T, data []byte, packed bool) {
		path := filepath.Join(t.TempDir(), "w.jsonl")
		if packed {
			path += ".zst"
		}
		writeFile(t, path, data)
		events, damage, torn := readAll(t, path, Options{MaxLine: 4096})
		if packed {
			return
		}
		blank := 0
		lines := bytes.SplitAfter(data, []byte("\n"))
		for _, l := range lines[:len(lines)-1] {
			if len(bytes.TrimSpace(l)) == 0 && len(l) <= 4097 {
				blank++
			}
		}
		if len(events)+len(damage)+blank != len(lines)-1 || (len(torn) == 1) != (len(lines[len(lines)-1]) > 0) {
			t.Fatalf("%d lines: %d events, %d damaged, %d blank, torn %v", len(lines)-1, len(events), len(damage), blank, torn)
		}
		for _, e := range events {
			decode(t, lineOf(e))
		}
	})
}
