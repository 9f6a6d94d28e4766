package wal

import (
	"maps"
	"strings"
	"testing"
	"time"
)

const (
	own     = "worker_0_pid_1"
	ownFile = own + ".jsonl"
)

// TestNotOurs: names that only compressions and runs use, with what neither has written:
// nothing is replaced, cut or removed, whoever comes by, and a compression tells of it.
func TestNotOurs(t *testing.T) {
	t.Parallel()
	line := textLine(own, 1, 1, Stop)
	other := string(pack(t, []byte(textLine(own, 1, 9, Stop))))
	for name, files := range map[string]map[string]string{
		"a whole value without its line end": {ownFile: `{"timestamp":"2024-01-01","sensor":5,"value":7}`},
		"a note that begins like an event":   {ownFile: line + `{"timestamp":"is what my own notes begin with"} and more`},
		"a value cut short":                  {ownFile: line + `{"timestamp":"2024-01-01 12:0`},
		"an event cut short, of another":     {ownFile: line + textLine("worker_0_pid_2", 2, 2, Stop)[:70]},
		"an event and more":                  {ownFile: line + strings.TrimSuffix(textLine(own, 2, 2, Stop), "\n") + " and more"},
		"another machine's compressed one":   {ownFile: line, ownFile + ".zst": other},
		"a longer compressed one":            {ownFile: line, ownFile + ".zst": string(pack(t, []byte(line+line)))},
		"a file of another kind":             {ownFile: line, ownFile + ".zst": "precious"},
		"a temp of another kind":             {ownFile: line, ownFile + ".zst.tmp": "precious"},
		"a temp alone":                       {ownFile + ".zst.tmp": "precious"},
		"a begun temp alone":                 {ownFile + ".zst.tmp": other[:9]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range files {
				writeLines(t, dir, name, text)
			}
			there := func() map[string]string {
				now := map[string]string{}
				for _, name := range names(t, dir) {
					if name != own+".000001.jsonl" {
						now[name] = string(readFile(t, dir+"/"+name))
					}
				}
				return now
			}
			report, err := CompressClosed(t.Context(), dir, nil)
			if err != nil || len(report.Foreign) != 1 || report.Files != 0 {
				t.Errorf("%+v (%v), want one file told of", report, err)
			}
			cfg := PruneConfig{Before: time.Now().AddDate(1, 0, 0), Held: func(*Event) (bool, error) { return true, nil }}
			if pruned, err := Prune(t.Context(), dir, cfg); err != nil || pruned.Files > 0 {
				t.Errorf("pruned: %+v (%v)", pruned, err)
			}
			log := create(t, Config{Dir: dir, WorkerID: own, NoCompress: true})
			if len(files[ownFile]) > 0 {
				appendN(t, log, 1)
			}
			closeLog(t, log)
			if now := there(); !maps.Equal(now, files) {
				t.Errorf("%q is now %q", files, now)
			}
		})
	}
}

// TestEventWithoutLineEnd: an event whose line end alone is missing stays, whoever writes
// or compresses the log next.
func TestEventWithoutLineEnd(t *testing.T) {
	t.Parallel()
	first, second := textLine(own, 1, 1, Stop), strings.TrimSuffix(textLine(own, 2, 2, Stop), "\n")
	for name, text := range map[string]string{"of several": first + second, "zeros behind it": first + second + "\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packed, written := t.TempDir(), t.TempDir()
			writeLines(t, packed, ownFile, text)
			writeLines(t, written, ownFile, text)
			cfg := PruneConfig{Before: time.Now().AddDate(1, 0, 0), Held: func(e *Event) (bool, error) { return e.Seq == 1, nil }}
			if pruned, err := Prune(t.Context(), packed, cfg); err != nil || pruned.Files > 0 {
				t.Errorf("pruned: %+v (%v)", pruned, err)
			}
			if report, err := CompressClosed(t.Context(), packed, nil); err != nil || report.Files != 1 {
				t.Fatalf("%+v (%v)", report, err)
			}
			wantSeqs(t, packed, 2)
			log := create(t, Config{Dir: written, WorkerID: own, NoCompress: true})
			appendN(t, log, 1)
			closeLog(t, log)
			wantSeqs(t, written, 3)
		})
	}
}
