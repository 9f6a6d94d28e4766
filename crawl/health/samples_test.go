package health

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"ypcrawl/store"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	w := setup(t)
	body := bytes.Repeat([]byte("<div class=result>Ünï</div>\n"), 5000)
	ok(t, w.KeepSample(t.Context(), Sample{SourceID: demo, TargetID: 1, URL: "http://one/p", Reason: "no result list", Body: body}))
	ok(t, w.KeepSample(t.Context(), Sample{SourceID: demo, URL: "http://one/q", Reason: "empty", Body: nil}))
	all, err := w.Samples(t.Context(), demo)
	ok(t, err)
	want := []Sample{
		{ID: 2, SourceID: demo, URL: "http://one/q", Reason: "empty", TakenAt: noon},
		{ID: 1, SourceID: demo, TargetID: 1, URL: "http://one/p", Reason: "no result list", TakenAt: noon, Size: len(body)},
	}
	if d := cmp.Diff(want, all); d != "" {
		t.Error(d)
	}
	for id, want := range map[int64][]byte{1: body, 2: nil} {
		got, err := w.ReadSample(t.Context(), id)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("sample %d: %d bytes, %v, want %d", id, len(got), err, len(want))
		}
	}
	wantRows(t, w.db, `SELECT length(body) < 1000 FROM page_samples WHERE id = 1`, "1")
	t.Run("one that is not there", func(t *testing.T) {
		if _, err := w.ReadSample(t.Context(), 99); !errors.Is(err, ErrNoSample) {
			t.Errorf("%v, want ErrNoSample", err)
		}
	})
}

func TestSamplesNewest(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for i := range 25 {
		source := demo + int64(i%2)
		ok(t, w.KeepSample(t.Context(), Sample{SourceID: source, URL: fmt.Sprint("http://x/", i), Reason: "r"}))
	}
	for source, last := range map[int64]int{demo: 24, other: 23} {
		all, err := w.Samples(t.Context(), source)
		if err != nil || len(all) != MaxSamples {
			t.Fatalf("%d samples of source %d, %v, want %d", len(all), source, err, MaxSamples)
		}
		for i, s := range all {
			if want := fmt.Sprint("http://x/", last-2*i); s.URL != want {
				t.Errorf("sample %d of source %d is of %s, want %s", i, source, s.URL, want)
			}
		}
	}
}

func TestSampleBounds(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, size := range []int{MaxSampleBytes, MaxSampleBytes + 1, 5 * MaxSampleBytes} {
		ok(t, w.KeepSample(t.Context(), Sample{SourceID: demo, URL: "u", Reason: "r", Body: make([]byte, size)}))
	}
	for id := range int64(3) {
		if got, err := w.ReadSample(t.Context(), id+1); err != nil || len(got) != MaxSampleBytes {
			t.Errorf("%d bytes, %v, want %d", len(got), err, MaxSampleBytes)
		}
	}
	t.Run("a bomb in the database is not unpacked", func(t *testing.T) {
		enc, err := zstd.NewWriter(nil)
		ok(t, err)
		defer enc.Close()
		for _, bomb := range [][]byte{enc.EncodeAll(make([]byte, MaxSampleBytes+1), nil), enc.EncodeAll(make([]byte, 64<<20), nil), []byte("no zstd")} {
			ok(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(`UPDATE page_samples SET body = ? WHERE id = 1`, bomb)
				return err
			}))
			if got, err := w.ReadSample(t.Context(), 1); err == nil {
				t.Errorf("%d bytes unpacked", len(got))
			}
		}
	})
}
