package kept

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// each hands the records of a segment to do.
func (s segment) each(do func(record, io.ReaderAt) error) error {
	_, err := s.scan(do)
	return err
}

func (s segment) scan(do func(record, io.ReaderAt) error) (damaged int64, err error) {
	f, err := os.Open(s.path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return scan(f, info.Size(), func(r record) error { return do(r, f) })
}

// unpacked reads the header and the body of a record that was compressed without a dictionary, of at most so many bytes.
func (r record) unpacked(src io.ReaderAt, header any, most uint64) ([]byte, error) {
	if err := json.Unmarshal(r.header, header); err != nil {
		return nil, err
	}
	packed, err := r.body(src)
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(most))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return dec.DecodeAll(packed, nil)
}

// Reader reads the pages of a folder as it was when it was opened.
type Reader struct {
	Damaged int64 // bytes that could not be read

	segments []segment
	readings map[string]*Reading
	dicts    map[uint32][]byte
	decoder  *zstd.Decoder
	open     *os.File // of segments[at]
	at       int
}

// Entry is a page that is kept.
type Entry struct {
	target  string
	number  int
	fetched int64 // in nanoseconds
	segment int
	offset  int64 // of the record
}

// OpenReader reads the heads of all pages of a folder.
func OpenReader(dir string) (*Reader, error) {
	all, err := segments(dir)
	if err != nil {
		return nil, err
	}
	return &Reader{segments: all, readings: map[string]*Reading{}, dicts: map[uint32][]byte{}, at: -1}, nil
}

// Empty reports whether there is no file.
func (r *Reader) Empty() bool { return len(r.segments) == 0 }

// Newest returns the newest page of each target and number of those that choose lets pass,
// those of a target together in the order of their numbers, the targets in the order of time. all is how many there are.
func (r *Reader) Newest(choose func(*Page) bool) (newest []Entry, all int, err error) {
	type key struct {
		target string
		number int
	}
	found := map[key]Entry{}
	for i, seg := range r.segments {
		damaged, err := seg.scan(func(rec record, src io.ReaderAt) error {
			switch rec.kind {
			case kindReading:
				var h readingHeader
				var how *Reading
				if text, err := rec.unpacked(src, &h, maxBody); err == nil && r.readings[h.ID] == nil && json.Unmarshal(text, &how) == nil && how != nil {
					r.readings[h.ID] = how
				}
			case kindDict:
				var h dictHeader
				if dict, err := rec.unpacked(src, &h, 4*dictBytes); err == nil {
					r.dicts[h.ID] = dict
				}
			case kindPage:
				var p Page
				if json.Unmarshal(rec.header, &p) != nil {
					return nil
				}
				all++
				k, e := key{p.Key(), p.Number}, Entry{number: p.Number, fetched: p.FetchedAt.UnixNano(), segment: i, offset: rec.offset - int64(len(rec.header)) - prefix}
				if before, ok := found[k]; choose(&p) && (!ok || before.fetched <= e.fetched) {
					e.target = k.target
					found[k] = e
				}
			}
			return nil
		})
		r.Damaged += damaged
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // removed since
			return nil, 0, fmt.Errorf("read kept pages: %w", err)
		}
	}
	began := map[string]int64{}
	for k, e := range found {
		first, ok := began[k.target]
		if !ok {
			first = math.MaxInt64
		}
		began[k.target] = min(first, e.fetched)
		newest = append(newest, e)
	}
	slices.SortFunc(newest, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(began[a.target], began[b.target]), cmp.Compare(a.target, b.target), cmp.Compare(a.number, b.number))
	})
	return newest, all, nil
}

// ErrDamaged is returned for a page that can't be read.
var ErrDamaged = errors.New("kept page is damaged")

// Read returns a page, how it was read when it was fetched, and its body. The error is
// ErrDamaged, or what the disk says.
func (r *Reader) Read(e Entry) (p *Page, how *Reading, body []byte, err error) {
	if r.open == nil || r.at != e.segment {
		_ = r.closeFile()
		if r.open, err = os.Open(r.segments[e.segment].path); err != nil {
			return nil, nil, nil, fmt.Errorf("read kept page: %w", err)
		}
		r.at = e.segment
	}
	rec, err := recordAt(r.open, e.offset, r.segments[e.segment].size+maxBody)
	var packed []byte
	if err == nil {
		p = &Page{}
		err = json.Unmarshal(rec.header, p)
	}
	if err == nil {
		packed, err = rec.body(r.open)
	}
	if err == nil {
		if how = r.readings[p.Reading]; how == nil {
			err = fmt.Errorf("the definition %s of its time is missing", p.Reading)
		}
	}
	if err == nil {
		body, err = r.unpack(p, packed)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%w: at byte %d of %s: %w", ErrDamaged, e.offset, r.segments[e.segment].path, err)
	}
	return p, how, body, nil
}

func (r *Reader) unpack(p *Page, packed []byte) ([]byte, error) {
	if r.decoder == nil {
		var dicts [][]byte
		for _, d := range r.dicts {
			if _, err := zstd.InspectDictionary(d); err == nil {
				dicts = append(dicts, d)
			}
		}
		var err error
		r.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxBody), zstd.WithDecoderDicts(dicts...))
		if err != nil {
			return nil, err
		}
	}
	body, err := r.decoder.DecodeAll(packed, nil)
	if err == nil && len(body) != p.Size {
		err = fmt.Errorf("it has %d bytes of %d", len(body), p.Size)
	}
	return body, err
}

func (r *Reader) closeFile() error {
	if r.open == nil {
		return nil
	}
	err := r.open.Close()
	r.open = nil
	return err
}

// Close lets go of what the reader has open.
func (r *Reader) Close() error {
	if r.decoder != nil {
		r.decoder.Close()
	}
	return r.closeFile()
}
