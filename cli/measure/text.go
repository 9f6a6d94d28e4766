package measure

import (
	"fmt"
	"strconv"
	"strings"

	"ypcrawl/store/report"
)

// ContentType is that of Text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Text writes metrics in Prometheus' text form, in base units. database is the file's name: it
// tells several files of one machine apart. A metric without a value leaves nothing.
func Text(m *report.Measures, database string) []byte {
	samples, order, help := map[string]string{}, []string(nil), map[string]string{}
	for i := range m.Metrics {
		x := &m.Metrics[i]
		if x.Value == nil {
			continue
		}
		if help[x.Name] == "" {
			order, help[x.Name] = append(order, x.Name), x.Help
		}
		labels := `{db="` + label(database) + `"`
		pairs := x.Pairs()
		for i := 0; i+1 < len(pairs); i += 2 {
			labels += "," + pairs[i] + `="` + label(pairs[i+1]) + `"`
		}
		samples[x.Name] += "ypcrawl_" + x.Name + labels + "} " + strconv.FormatFloat(*x.Value, 'f', -1, 64) + "\n"
	}
	var b strings.Builder
	for _, name := range order {
		kind := "gauge"
		if strings.HasSuffix(name, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(&b, "# HELP ypcrawl_%s %s\n# TYPE ypcrawl_%[1]s %[3]s\n%s", name, help[name], kind, samples[name])
	}
	return []byte(b.String())
}

func label(text string) string { return escape.Replace(strings.ToValidUTF8(text, "?")) }
