package measure

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"ypcrawl/store/report"
)

// ContentType is that of Text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Text writes metrics in Prometheus' text form, in base units. database is the file's name: it
// tells several files of one machine apart. A metric without a value leaves nothing. The samples of a
// histogram, whose names end in _bucket, _sum and _count, come together under the name of all.
func Text(m *report.Measures, database string) []byte {
	samples, order, help, kinds := map[string]string{}, []string(nil), map[string]string{}, kindsOf(m)
	for i := range m.Metrics {
		x := &m.Metrics[i]
		if x.Value == nil {
			continue
		}
		name := family(x.Name, kinds)
		if samples[name] == "" {
			order, help[name] = append(order, name), x.Help
		}
		labels := `{db="` + label(database) + `"`
		pairs := x.Pairs()
		for i := 0; i+1 < len(pairs); i += 2 {
			labels += "," + pairs[i] + `="` + label(pairs[i+1]) + `"`
		}
		samples[name] += "ypcrawl_" + x.Name + labels + "} " + strconv.FormatFloat(*x.Value, 'f', -1, 64) + "\n"
	}
	var b strings.Builder
	for _, name := range order {
		fmt.Fprintf(&b, "# HELP ypcrawl_%s %s\n# TYPE ypcrawl_%[1]s %[3]s\n%s", name, help[name], cmp.Or(kinds[name], "gauge"), samples[name])
	}
	return []byte(b.String())
}

// kindsOf tells the types of metrics that are no gauges, by name: counters, and the histograms by what
// their buckets' names have before _bucket.
func kindsOf(m *report.Measures) map[string]string {
	kinds := map[string]string{}
	for i := range m.Metrics {
		name := m.Metrics[i].Name
		if base, ok := strings.CutSuffix(name, "_bucket"); ok {
			kinds[base] = "histogram"
		} else if strings.HasSuffix(name, "_total") {
			kinds[name] = "counter"
		}
	}
	return kinds
}

// family is the name that the text announces a metric by: a histogram's samples have a common one.
func family(name string, kinds map[string]string) string {
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, part); ok && kinds[base] == "histogram" {
			return base
		}
	}
	return name
}

func label(text string) string { return escape.Replace(strings.ToValidUTF8(text, "?")) }
