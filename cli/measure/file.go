package measure

import (
	"context"
	"fmt"
	"time"

	"ypcrawl/cli/export"
)

// FileEvery is how often the file is written while a run goes on.
const FileEvery = 15 * time.Second

// fileMode lets the collector read the file, which runs as another user as a rule.
const fileMode = 0o644

// WriteFile replaces the file name by the measures in Prometheus' text form, as a whole: a
// reader sees the old ones or the new ones.
func (m *Meter) WriteFile(name string) error {
	all, err := m.Measures()
	if err == nil {
		err = m.write(name, Text(all, m.cfg.Database))
	}
	if err != nil {
		return fmt.Errorf("write the metrics file: %w", err)
	}
	return nil
}

func (m *Meter) write(name string, text []byte) error {
	f, err := export.Create(name, true)
	if err != nil {
		return err
	}
	defer f.Abort()
	f.Chmod(fileMode)
	if _, err = f.Write(text); err == nil {
		_, err = f.Publish()
	}
	return err
}

// KeepFile writes the file now and every FileEvery until stop is called, which writes it a last
// time. The first write that fails is handed to warn: the crawl goes on.
func (m *Meter) KeepFile(ctx context.Context, name string, warn func(error)) (stop func()) {
	warned := false
	write := func() {
		if err := m.WriteFile(name); err != nil && !warned {
			warned = true
			warn(err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(FileEvery)
		defer tick.Stop()
		for {
			write()
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
		m.measures.forget() // how the run ended is to be in it
		write()
	}
}
