package notify

import (
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ypcrawl/yp"
)

// Version is that of the form of a Message. It grows when a key changes its meaning or is taken
// away; new keys may come without.
const Version = 1

// Severity says how soon somebody should look.
type Severity string

// The severities.
const (
	Critical Severity = "critical" // nothing is crawled until somebody looks, or for long
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// Message is what a destination gets, as JSON.
type Message struct {
	Version  int                `json:"version"`
	Event    yp.NoticeEvent     `json:"event"`
	At       time.Time          `json:"at"`
	Source   string             `json:"source,omitempty"` // none = the whole run, or several
	Severity Severity           `json:"severity"`
	Title    string             `json:"title"` // one line
	Text     string             `json:"text"`
	Figures  map[string]float64 `json:"figures"`
	Run      int64              `json:"run,omitempty"` // its id, which `changes --since` takes
	Database string             `json:"database"`      // the file's name, without its folder
}

const (
	maxTitle = 200
	maxText  = 4000
)

// parcel makes of a message what is sent. Texts that came from pages are cut, without control
// characters, and name no path of this machine.
func (m Message) parcel() (Parcel, error) {
	m.Version, m.At = Version, m.At.UTC().Truncate(time.Millisecond)
	m.Title, m.Text = cut(Plain(m.Title), maxTitle), cut(Plain(m.Text), maxText)
	m.Source, m.Database = yp.Printable(m.Source), filepath.Base(m.Database)
	if m.Figures == nil {
		m.Figures = map[string]float64{}
	}
	body, err := yp.JSON(m, "")
	return Parcel{Event: m.Event, Title: m.Title, Type: "application/json", Body: body}, err
}

var (
	address = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^\s/"'<>]*@)?([^\s/"'<>?#]*)[^\s"'<>]*`)
	path    = regexp.MustCompile("(^|[\\s\"'(=\\x60])(?:[A-Za-z]:)?(?:[/\\\\][^\\s\"'(),;:/\\\\\\x60]+)+[/\\\\]([^\\s\"'(),;:/\\\\\\x60]+)")
)

// Plain makes a text fit for other machines: of an address it leaves scheme and host, of an
// absolute path the file's name; control characters become visible.
func Plain(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		parts, at := address.FindAllStringSubmatchIndex(line, -1), 0
		var out strings.Builder
		for _, p := range parts {
			out.WriteString(path.ReplaceAllString(line[at:p[0]], "$1$2"))
			out.WriteString(line[p[2]:p[3]] + line[p[4]:p[5]])
			at = p[1]
		}
		out.WriteString(path.ReplaceAllString(line[at:], "$1$2"))
		lines[i] = yp.Printable(out.String())
	}
	return strings.Join(lines, "\n")
}

// cut shortens a text to so many bytes, and says so.
func cut(text string, most int) string {
	const mark = " …"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}
