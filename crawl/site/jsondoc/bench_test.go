package jsondoc

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkAnswer reads ten values of each of 30 listings in an answer of 30 KB.
func BenchmarkAnswer(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"data":{"stores":{"nodes":[`)
	for i := range 30 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"id":%d,"name":"Store %d","contact":{"phones":[{"type":"fax","v":"1"},{"type":"phone","v":"(217) 555-%04d"}]},"about":%q,"score":8.30}`,
			i, i, i, strings.Repeat("pipes and drains, ", 50))
	}
	text.WriteString(`],"total":30}}}`)
	compile := func(path string) Path {
		p, err := Compile(path)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	items := compile("data.stores.nodes")
	fields := []Path{
		compile("id"), compile("name"), compile("score"), compile(`contact.phones.#(type=="phone").v`), compile("about"), compile("street"),
		compile("city"), compile("state"), compile("web"), compile("tags.0"),
	}
	body := []byte(text.String())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		v, err := Parse(body)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for item := range items.First(v).Items() {
			for i := range fields {
				n += len(fields[i].First(item).Text())
			}
		}
		if n == 0 {
			b.Fatal("nothing read")
		}
	}
}
