package notify

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"ypcrawl/yp"
)

// The events that somebody who does not look is told of.
const (
	RunEnded     = "run_ended"     // with its figures
	SourceClosed = "source_closed" // blocked, quarantined or paused: it is not crawled
	LayoutAlarm  = "layout_alarm"  // a source waits for an operator

	// The severities say how soon somebody should look.
	Critical = "critical" // nothing is crawled until somebody looks, or for long
	Warning  = "warning"
	Info     = "info"
)

// Message is what a destination gets, as JSON.
type Message struct {
	Version  int                `json:"version"`
	Event    string             `json:"event"`
	At       yp.Stamp           `json:"at"`
	Source   string             `json:"source,omitempty"` // none = the whole run, or several
	Severity string             `json:"severity"`
	Title    string             `json:"title"` // one line
	Text     string             `json:"text"`
	Figures  map[string]float64 `json:"figures"`
	Run      int64              `json:"run,omitempty"` // its id, which `changes --since` takes
	Database string             `json:"database"`      // the file's name, without its folder
}

const (
	version  = 2 // of the form of a Message: it grows when a key changes its meaning or is taken away
	maxTitle = 200
	maxText  = 4000
	maxPing  = 10_000 // bytes of its body, as healthchecks has it
)

// JSON is the message as it is stored and sent. Texts that came from pages are cut, without control
// characters, and name no path of this machine.
func (m Message) JSON() ([]byte, error) {
	m.Version = version
	m.Title, m.Text = cut(Plain(m.Title), maxTitle), cut(Plain(m.Text), maxText)
	m.Source, m.Database = yp.Printable(m.Source), filepath.Base(m.Database)
	if m.Figures == nil {
		m.Figures = map[string]float64{}
	}
	return yp.JSON(m, "")
}

// Parcel is what is sent once.
type Parcel struct {
	Event, Title string // for a command's environment
	Type         string // of the body
	Body         []byte
	Under        string // further path of the address: "start"
}

// Stored is the parcel of a message as JSON made it.
func Stored(body []byte) Parcel {
	var m Message
	_ = json.Unmarshal(body, &m) // it is sent as it stands, in any case
	return Parcel{Event: m.Event, Title: m.Title, Type: "application/json", Body: body}
}

// Ping is the parcel of a ping: "start", "" after a success, "fail", or "log" for news that are neither.
func Ping(under, text string) Parcel {
	return Parcel{Event: "ping", Type: "text/plain; charset=utf-8", Body: []byte(cut(Plain(text), maxPing)), Under: under}
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
		var out strings.Builder
		at := 0
		for _, p := range address.FindAllStringSubmatchIndex(line, -1) {
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
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(" …")], "") + " …"
}
