package wal

import (
	"maps"
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
		"a first line of another kind":     {ownFile: "{\"sensor\":5}\n" + line},
		"another machine's compressed one": {ownFile: line, ownFile + ".zst": other},
		"a shorter compressed one":         {ownFile: line + textLine(own, 2, 2, Stop), ownFile + ".zst": string(pack(t, []byte(line)))},
		"a longer compressed one":          {ownFile: line, ownFile + ".zst": string(pack(t, []byte(line+line)))},
		"a file of another kind":           {ownFile: line, ownFile + ".zst": "precious"},
		"a temp of another kind":           {ownFile: line, ownFile + ".zst.tmp": "precious"},
		"a temp alone":                     {ownFile + ".zst.tmp": "precious"},
		"a begun temp alone":               {ownFile + ".zst.tmp": other[:9]},
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
					if name != own+"_1.jsonl" {
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
