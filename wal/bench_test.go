package wal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func BenchmarkEncode(b *testing.B) {
	e := stamped(samplePage(30))
	b.SetBytes(int64(len(lineOf(e))))
	b.ReportAllocs()
	var line []byte
	for b.Loop() {
		line, _ = e.appendTo(line[:0])
	}
}

// BenchmarkEncodingJSON is what BenchmarkEncode is compared with.
func BenchmarkEncodingJSON(b *testing.B) {
	e := stamped(samplePage(30))
	b.SetBytes(int64(len(lineOf(e))))
	for b.Loop() {
		byEncodingJSON(b, e)
	}
}

func BenchmarkAppend(b *testing.B) {
	log := create(b, Config{Dir: b.TempDir(), NoCompress: true})
	e := samplePage(30)
	b.SetBytes(int64(len(lineOf(e))))
	b.ReportAllocs()
	for b.Loop() {
		if err := log.Append(e); err != nil {
			b.Fatal(err)
		}
	}
}

// variedLines are pages whose listings differ as real ones do, so that the
// ratio means something.
func variedLines(pages int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("family owned since we fix leaks drains heaters day night free estimates licensed insured best local service")
	var text []byte
	for i := range pages {
		e := samplePage(30)
		e.Timestamp, e.WorkerID, e.Seq = noon, "worker_0_pid_1", int64(i+1)
		for j := range e.Page.Listings {
			l := &e.Page.Listings[j]
			l.ID = strconv.Itoa(rnd.IntN(1e9))
			l.Name = fmt.Sprintf("%s %s %x", words[rnd.IntN(len(words))], words[rnd.IntN(len(words))], rnd.IntN(1e6))
			l.ProfileURL = "https://directory.example/mip/" + l.Name + "-" + l.ID
			l.PhoneE164 = fmt.Sprintf("+1%010d", rnd.Int64N(1e10))
			l.Phone, l.Street = l.PhoneE164[2:], fmt.Sprintf("%d W %s St", rnd.IntN(9999), words[rnd.IntN(len(words))])
			l.Domain = fmt.Sprintf("%x.example", rnd.IntN(1e9))
			l.WebsiteURL, l.Website = "http://www."+l.Domain+"/?utm_source=dir", "https://"+l.Domain
			rnd.Shuffle(len(words), func(a, b int) { words[a], words[b] = words[b], words[a] })
			l.Snippet = strings.Join(words, " ")
			l.ImageURL = fmt.Sprintf("https://i1.directory.example/blob/%016x_400x260_crop.jpg", rnd.Uint64())
		}
		text = append(append(text, lineOf(e)...), '\n')
	}
	return text
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "worker_0_pid_1.jsonl")
	line := append(lineOf(stamped(samplePage(30))), '\n')
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
				for _, err := range r.Events() {
					if err != nil {
						b.Fatal(err)
					}
				}
				_ = r.Close()
			}
		})
	}
}

func BenchmarkCompress(b *testing.B) {
	text := variedLines(400)
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
