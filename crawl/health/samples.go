package health

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"

	"ypcrawl/store"
)

const (
	// MaxSamples is how many page samples of a source are kept, the newest.
	MaxSamples = 10
	// MaxSampleBytes is where the body of a sample is cut.
	MaxSampleBytes = 2 << 20
)

// Sample is a page whose layout was not known, kept for whoever mends the source.
type Sample struct {
	ID       int64
	SourceID int64
	TargetID int64 // 0 = of no target
	URL      string
	Reason   string
	TakenAt  time.Time
	Size     int    // bytes of the body, unpacked
	Body     []byte // for KeepSample; ReadSample gives it back
}

const (
	insertSample = `INSERT INTO page_samples (source_id, target_id, url, reason, taken_at, size, body) VALUES (?, ?, ?, ?, ?, ?, ?)`
	dropSamples  = `
	DELETE FROM page_samples WHERE source_id = ?1 AND id <= (
		SELECT id FROM page_samples WHERE source_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`
	selectSamples = `
	SELECT id, source_id, ifnull(target_id, 0), url, reason, taken_at, size FROM page_samples WHERE source_id = ? ORDER BY id DESC`
	selectSample = `SELECT body FROM page_samples WHERE id = ?`
)

// KeepSample keeps a page, cut at MaxSampleBytes, and drops the oldest of its
// source beyond MaxSamples. ID, TakenAt and Size of s do not matter.
func (m *Monitor) KeepSample(ctx context.Context, s Sample) error {
	body := s.Body[:min(len(s.Body), MaxSampleBytes)]
	packed, err := pack(body)
	if err != nil {
		return fmt.Errorf("pack page sample of %s: %w", s.URL, err)
	}
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(insertSample, s.SourceID, orNull(s.TargetID), s.URL, s.Reason, tx.Now, len(body), packed); err != nil {
			return err
		}
		_, err := tx.Exec(dropSamples, s.SourceID, MaxSamples)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep page sample of %s: %w", s.URL, err)
	}
	return nil
}

// Samples lists the samples of a source without their bodies, the newest first.
func (m *Monitor) Samples(ctx context.Context, sourceID int64) ([]Sample, error) {
	all, err := collect(ctx, m.db.Read(), (*Sample).columns, selectSamples, sourceID)
	if err != nil {
		return nil, fmt.Errorf("list page samples of source %d: %w", sourceID, err)
	}
	return all, nil
}

func (s *Sample) columns() []any {
	return []any{&s.ID, &s.SourceID, &s.TargetID, &s.URL, &s.Reason, clock{&s.TakenAt}, &s.Size}
}

// ReadSample returns the body of a sample, or ErrNoSample.
func (m *Monitor) ReadSample(ctx context.Context, id int64) ([]byte, error) {
	var packed []byte
	err := m.db.Read().QueryRowContext(ctx, selectSample, id).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoSample
	}
	if err != nil {
		return nil, fmt.Errorf("read page sample %d: %w", id, err)
	}
	// What is larger than any sample is refused.
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxSampleBytes))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	body, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack page sample %d: %w", id, err)
	}
	return body, nil
}

func pack(body []byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	packed := enc.EncodeAll(body, make([]byte, 0, len(body)/4))
	return packed, enc.Close()
}
