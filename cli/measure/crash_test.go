package measure_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "pgregory.net/rapid" // storetest.Main sets a flag of it

	"ypcrawl/cli/measure"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Main(m, "20", map[string]func([]string) error{"writer": writer})
}

// writer writes the measures of a database into a file, over and over, and says so each time.
func writer(args []string) error {
	db, err := store.Open(context.Background(), store.Config{Path: args[0], ReadOnly: true})
	if err != nil {
		return err
	}
	now := time.Now()
	m := measure.New(measure.Config{Reader: report.New(db), Database: "a.db", Now: func() time.Time {
		now = now.Add(time.Minute) // it reads anew each time
		return now
	}})
	for err == nil {
		err = m.WriteFile(args[1])
		fmt.Println("written")
	}
	return err
}

// TestKilledWriter: whenever the process that writes it is killed, the file is whole.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "a.prom")
	for kill := range 25 {
		child := storetest.Command(t, "writer", b.path, name).Begin(t)
		for range 1 + kill*2 {
			child.Await(t, "written")
		}
		child.Kill(t)
		text, err := os.ReadFile(name)
		storetest.NoError(t, err)
		all := parse(t, text)
		if _, ok := value(all, "ypcrawl_measured_timestamp_seconds"); !ok || len(all) < 15 {
			t.Fatalf("after kill %d the file is not whole:\n%s", kill, text)
		}
	}
	there, err := os.ReadDir(dir)
	storetest.NoError(t, err)
	for _, e := range there {
		if e.Name() != "a.prom" && !(strings.HasPrefix(e.Name(), ".a.prom.") && strings.HasSuffix(e.Name(), ".part")) {
			t.Errorf("there is %s: a collector of *.prom would read it", e.Name())
		}
	}
}
