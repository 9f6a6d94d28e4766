package wal

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/rs/zerolog"
)

// packer compresses the closed parts of a log, one after the other, in a
// goroutine that lives only while there is work. A nil packer does nothing.
type packer struct {
	log    zerolog.Logger
	step   func(packStep)
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	queue   []part
	running bool
	stopped bool
	wg      sync.WaitGroup
}

func newPacker(log zerolog.Logger, step func(packStep)) *packer {
	ctx, cancel := context.WithCancel(context.Background())
	return &packer{log: log, step: step, ctx: ctx, cancel: cancel}
}

func (p *packer) add(file part) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.queue = append(p.queue, file)
	if !p.running {
		p.running = true
		p.wg.Go(p.run)
	}
}

func (p *packer) run() {
	for {
		p.mu.Lock()
		if len(p.queue) == 0 || p.stopped {
			p.running = false
			p.mu.Unlock()
			return
		}
		file := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		p.pack(file)
	}
}

// pack compresses one file. A failure costs room, not events: the plain file
// stays, and `wal compress` tries again.
func (p *packer) pack(file part) {
	before, after, err := packFile(p.ctx, file, p.step)
	switch {
	case err == nil:
		p.log.Debug().Str("component", "wal").Str("file", file.packedPath()).
			Int64("bytes_before", before).Int64("bytes_after", after).Msg("compressed a closed log")
	case errors.Is(err, context.Canceled), errors.Is(err, ErrInUse), errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoLines):
	default:
		p.log.Warn().Err(err).Str("component", "wal").Msg("a closed log stays uncompressed")
	}
}

// stop gives up the compression under way and waits until it has cleaned up.
func (p *packer) stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
}
