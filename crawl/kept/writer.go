package kept

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rs/zerolog"

	"ypcrawl/yp"
)

// Config says where and how pages are kept.
type Config struct {
	Dir      string                          // required
	Run      string                          // uuid of the run that writes; required
	Days     int                             // pages are kept so long; required
	MaxBytes int64                           // of all segments; required
	Alive    func(run string) (bool, error)  // reports whether a run lives: its segments stay; nil = no other does
	Free     func(dir string) (int64, error) // bytes that may still be written; nil = not asked
	Now      func() time.Time                // nil = time.Now
	Logger   zerolog.Logger

	open func(path string) (file, error) // nil = the real thing
}

// file is what a Writer needs of a segment.
type file interface {
	io.WriteCloser
	Truncate(size int64) error
}

// Bounds of a segment: a share of the whole, so that the oldest pages go in small portions.
const (
	segmentShare = 16
	minSegment   = 1 << 20
	maxSegment   = 64 << 20
	segmentAge   = 24 * time.Hour
	// spareBytes stay free for what must not fail: the database and its logs.
	spareBytes = 512 << 20
)

// Writer keeps the pages of a run. Its methods may be called from several goroutines.
type Writer struct {
	cfg   Config
	limit int64 // of a segment

	mu       sync.Mutex
	off      bool // it keeps nothing more
	file     file
	path     string
	size     int64
	begun    time.Time
	segments int                 // that it has begun
	has      map[string]bool     // readings and dictionaries that the segment has
	readings map[*Reading][]byte // as JSON
	plain    *zstd.Encoder
	series   map[string]*series
	packed   []byte
}

// Open removes what is too old or too much, and returns a Writer. It makes no file: the
// first page does.
func Open(cfg Config) (*Writer, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Alive == nil {
		cfg.Alive = func(string) (bool, error) { return false, nil }
	}
	if cfg.open == nil {
		cfg.open = func(path string) (file, error) {
			return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		}
	}
	w := &Writer{cfg: cfg, limit: min(max(cfg.MaxBytes/segmentShare, minSegment), maxSegment), readings: map[*Reading][]byte{}, series: map[string]*series{}}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of kept pages: %w", err)
	}
	var err error
	if w.plain, err = newEncoder(nil); err != nil {
		return nil, err
	}
	if err := w.prune(0); err != nil {
		return nil, err
	}
	return w, w.learn()
}

func newEncoder(dict []byte) (*zstd.Encoder, error) {
	options := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1 << 20), zstd.WithEncoderLevel(zstd.SpeedFastest)}
	if dict != nil {
		options = append(options, zstd.WithEncoderDict(dict))
	}
	return zstd.NewWriter(nil, options...)
}

// Keep appends a page, read as r says. What fails is logged once, and ends it.
func (w *Writer) Keep(p Page, r *Reading, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off {
		return
	}
	switch err := w.keep(p, r, body); {
	case err == nil:
	case errors.Is(err, errTooLarge):
		w.cfg.Logger.Debug().Err(err).Str("component", "kept").Msg("page is not kept")
	default:
		w.off = true
		w.cfg.Logger.Warn().Err(err).Str("component", "kept").Str("folder", w.cfg.Dir).
			Msg("pages are not kept any more in this run; the crawl goes on. Free some space, or lower --keep-pages-size, before the next one")
		if w.file != nil {
			_ = w.file.Truncate(w.size) // readers pass over what stays
		}
	}
}

func (w *Writer) keep(p Page, r *Reading, body []byte) error {
	if w.file != nil && (w.size >= w.limit || w.cfg.Now().Sub(w.begun) >= segmentAge) {
		err := w.file.Close()
		w.file = nil
		if err != nil {
			return err
		}
	}
	if w.file == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	var err error
	if p.Reading, err = w.write(r); err != nil {
		return err
	}
	s := w.seriesOf(p.Source + "/" + string(p.Kind))
	enc := w.plain
	if s != nil && s.dict != nil {
		p.Dict, enc = s.id, s.enc
		if err := w.once(s.name(), kindDict, dictHeader{ID: s.id, Series: s.key}, s.dict); err != nil {
			return err
		}
	}
	p.Run, p.Size = w.cfg.Run, len(body)
	w.packed = enc.EncodeAll(body, w.packed[:0])
	if err := w.append(kindPage, p, w.packed); err != nil {
		return err
	}
	if s != nil {
		s.train(body)
	}
	return nil
}

// write brings a reading into the segment, and returns its id.
func (w *Writer) write(r *Reading) (id string, err error) {
	text, known := w.readings[r]
	if !known {
		if text, err = json.Marshal(r); err != nil {
			return "", err
		}
		w.readings[r] = text
	}
	sum := sha256.Sum256(text)
	id = hex.EncodeToString(sum[:8])
	return id, w.once(id, kindReading, readingHeader{id}, text)
}

// once appends a record that the segment has not yet, with its body compressed.
func (w *Writer) once(name string, kind byte, header any, body []byte) error {
	if w.has[name] {
		return nil
	}
	w.has[name] = true
	return w.append(kind, header, w.plain.EncodeAll(body, nil))
}

func (w *Writer) append(kind byte, header any, body []byte) error {
	text, err := encode(kind, header, body)
	if err != nil {
		return err
	}
	if _, err := w.file.Write(text); err != nil {
		return err
	}
	w.size += int64(len(text))
	return nil
}

// begin removes what the next segment needs the space of, and begins it.
func (w *Writer) begin() error {
	if err := w.prune(w.limit); err != nil {
		return err
	}
	if w.cfg.Free != nil {
		free, err := w.cfg.Free(w.cfg.Dir)
		if err != nil {
			return err
		}
		if free < spareBytes+w.limit {
			return fmt.Errorf("only %d MB are left on the disk", free>>20)
		}
	}
	now := w.cfg.Now().UTC()
	w.segments++
	path := filepath.Join(w.cfg.Dir, fmt.Sprintf("%s_%06d_%s%s", now.Format(nameTime), w.segments, w.cfg.Run, extension))
	f, err := w.cfg.open(path)
	if err != nil {
		return err
	}
	w.file, w.path, w.size, w.begun, w.has = f, path, 0, now, map[string]bool{}
	return nil
}

// Close ends the segment. A second Close does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = true
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

const (
	extension = ".pages"
	nameTime  = "20060102T150405.000Z"
)

// segment is a file of kept pages.
type segment struct {
	path, run string
	size      int64
	written   time.Time // last
}

// segments lists a folder, the oldest first; one that is not there has none.
func segments(dir string) (all []segment, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		parts := strings.SplitN(name, "_", 3)
		info, err := e.Info()
		_, noTime := time.Parse(nameTime, parts[0])
		if !ok || len(parts) < 3 || noTime != nil || err != nil || !info.Mode().IsRegular() {
			continue // somebody else's, or removed since it was listed
		}
		all = append(all, segment{path: filepath.Join(dir, e.Name()), run: parts[2], size: info.Size(), written: info.ModTime()})
	}
	return all, nil
}

// Usage returns the bytes that the segments of a folder take, and how many there are.
func Usage(dir string) (bytes int64, files int, err error) {
	all, err := segments(dir)
	for _, s := range all {
		bytes += s.size
	}
	return bytes, len(all), err
}

// prune removes segments of ended runs: those that are too old, then the oldest until more
// bytes have their place.
func (w *Writer) prune(more int64) error {
	all, err := segments(w.cfg.Dir)
	if err != nil {
		return err
	}
	used := more
	var ended []segment
	for _, s := range all {
		used += s.size
		if s.run == w.cfg.Run {
			if s.path != w.path || w.file == nil {
				ended = append(ended, s)
			}
			continue
		}
		alive, err := w.cfg.Alive(s.run)
		if err != nil {
			return err
		}
		if !alive {
			ended = append(ended, s)
		}
	}
	old, early := w.cfg.Now().AddDate(0, 0, -w.cfg.Days), 0
	var newest time.Time
	for _, s := range ended {
		expired := s.written.Before(old)
		if !expired && used <= w.cfg.MaxBytes {
			continue
		}
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		used -= s.size
		if !expired {
			early++
			newest = s.written
		}
	}
	if early > 0 {
		w.cfg.Logger.Warn().Str("component", "kept").Int("files", early).Int64("max_bytes", w.cfg.MaxBytes).Int("keep_days", w.cfg.Days).Str("fetched_until", yp.FormatTime(newest)).
			Msg("kept pages were removed before their days were over: they took more than --keep-pages-size. Raise it to keep them longer")
	}
	if used > w.cfg.MaxBytes {
		return fmt.Errorf("runs under way already keep %d bytes of pages, and --keep-pages-size is %d", used-more, w.cfg.MaxBytes)
	}
	return nil
}

// series is the pages that a dictionary is made for: those of a source and a kind.
type series struct {
	key     string
	samples [][]byte // until there is a dictionary
	bytes   int
	id      uint32
	dict    []byte
	enc     *zstd.Encoder
	given   bool // no dictionary can be made of them
}

// Bounds of the dictionaries. Each takes some MB while it is used, so a run over many
// sources has them for the first ones only.
const (
	mostSeries  = 16
	sampleCount = 8
	sampleBytes = 4 << 20
	sampleChunk = 64 << 10 // the trainer takes no more at once
	dictBytes   = 112 << 10
)

func (s *series) name() string { return fmt.Sprintf("dict %08x", s.id) }

// seriesOf returns the series of that key, nil when there are too many.
func (w *Writer) seriesOf(key string) *series {
	s := w.series[key]
	if s == nil && len(w.series) < mostSeries {
		s = &series{key: key}
		w.series[key] = s
	}
	return s
}

// train adds a page to the samples, and makes the dictionary when there are enough.
func (s *series) train(body []byte) {
	if s.dict != nil || s.given || len(body) == 0 {
		return
	}
	s.samples = append(s.samples, bytes.Clone(body))
	if s.bytes += len(body); len(s.samples) < sampleCount && s.bytes < sampleBytes {
		return
	}
	s.use(buildDict(s.samples))
	s.samples, s.given = nil, true
}

// use takes a dictionary, if it is one.
func (s *series) use(dict []byte) {
	if info, err := zstd.InspectDictionary(dict); err == nil {
		if enc, err := newEncoder(dict); err == nil {
			s.dict, s.id, s.enc = dict, info.ID(), enc
		}
	}
}

// buildDict trains a dictionary with pages of one kind; nil when that can't be done.
func buildDict(samples [][]byte) (dict []byte) {
	defer func() {
		if recover() != nil { // the trainer fails so on some contents
			dict = nil
		}
	}()
	var contents [][]byte
	for _, body := range samples {
		contents = slices.AppendSeq(contents, slices.Chunk(body, sampleChunk))
	}
	history := samples[len(samples)-1]
	history = history[:min(len(history), dictBytes)]
	sum := sha256.Sum256(history)
	id := uint32(sum[0])<<16 | uint32(sum[1])<<8 | uint32(sum[2]) | 1<<30 // of the numbers that are nobody's
	dict, err := zstd.BuildDict(zstd.BuildDictOptions{ID: id, Contents: contents, History: history, Offsets: [3]int{1, 4, 8}, Level: zstd.SpeedFastest})
	if err != nil {
		return nil
	}
	return dict
}

// learn takes over the dictionaries of the newest segments.
func (w *Writer) learn() error {
	all, err := segments(w.cfg.Dir)
	if err != nil {
		return err
	}
	for _, seg := range slices.Backward(all[max(len(all)-4, 0):]) {
		err := seg.each(func(r record, src io.ReaderAt) error {
			if r.kind != kindDict {
				return nil
			}
			var h dictHeader
			dict, err := r.unpacked(src, &h, 4*dictBytes)
			if err != nil {
				return nil //nolint:nilerr // damaged: another one is trained
			}
			if s := w.seriesOf(h.Series); s != nil && s.dict == nil {
				s.use(dict)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
