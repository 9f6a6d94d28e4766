package wal

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"
)

func BenchmarkEncode(b *testing.B) {
	e := stamped(samplePage(30))
	buf := e.AppendJSON(nil)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = e.AppendJSON(buf[:0])
	}
}

func BenchmarkAppend(b *testing.B) {
	log := create(b, Config{Dir: b.TempDir(), NoCompress: true})
	e := samplePage(30)
	b.SetBytes(int64(len(e.AppendJSON(nil))))
	b.ReportAllocs()
	for b.Loop() {
		if err := log.Append(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "worker_0_pid_1.jsonl")
	line := append(stamped(samplePage(30)).AppendJSON(nil), '\n')
	text := bytes.Repeat(line, 200)
	writeFile(b, path, text)
	writeFile(b, path+".zst", pack(b, text))
	for _, c := range []struct {
		name, path string
		opts       Options
	}{
		{"plain", path, Options{}},
		{"compressed", path + ".zst", Options{}},
		{"without listings", path, Options{SkipListings: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := OpenReader(c.path, c.opts)
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := r.Next(); errors.Is(err, io.EOF) {
						break
					}
				}
				_ = r.Close()
			}
		})
	}
}

func BenchmarkCompress(b *testing.B) {
	text := bytes.Repeat(manyLines(), 4)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var packed bytes.Buffer
	for b.Loop() {
		packed.Reset()
		if err := compressText(b.Context(), &packed, bytes.NewReader(text), func(packStep) {}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(text))/float64(packed.Len()), "ratio")
}
