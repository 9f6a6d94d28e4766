package frame

import (
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// Logger writes to w, which is stderr or the display in front of it, as --log-level, --log-format and --quiet say.
func (p *Invocation) Logger(c *cli.Context, w io.Writer) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(c.String("log-level"))
	if err != nil || level < zerolog.TraceLevel || level > zerolog.ErrorLevel || c.String("log-level") == "" {
		return zerolog.Nop(), Usagef("--log-level %q: want trace, debug, info, warn or error", c.String("log-level"))
	}
	if c.Bool("quiet") {
		level = max(level, zerolog.WarnLevel)
	}
	switch c.String("log-format") {
	case "json":
		w = escapingWriter{w}
	case "text":
		w = p.console(w)
	default:
		return zerolog.Nop(), Usagef("--log-format %q: want text or json", c.String("log-format"))
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), nil
}

// console writes log lines for people: what happened to what first, and no
// component, which says nothing to them. Control characters in values are quoted.
// Times are UTC; what goes to a file is read another day, and has its date. On a terminal lines fit its width, and a
// worker is its name alone: its process is the one that is looked at.
func (p *Invocation) console(w io.Writer) io.Writer {
	out := zerolog.ConsoleWriter{
		Out: w, NoColor: !p.color(p.Err), TimeFormat: "2006-01-02 15:04:05Z", TimeLocation: time.UTC,
		FieldsExclude: []string{"component"},
		FieldsOrder:   []string{"percent", "targets", "city", "state", "category", "error_code", "reason"},
	}
	if IsTerminal(p.Err) {
		out.TimeFormat = "15:04:05Z"
		out.Out = fittingWriter{w, func() int { return widthOf(p.Err) }}
		out.FormatPrepare = shortWorker
	}
	return out
}

// shortWorker takes the number of the process out of a worker's name: "amber (16283)".
func shortWorker(fields map[string]any) error {
	if worker, ok := fields["worker"].(string); ok {
		fields["worker"], _, _ = strings.Cut(worker, " (")
	}
	return nil
}

// fittingWriter folds lines at their blanks to the width of a terminal. Each is written at once.
type fittingWriter struct {
	w     io.Writer
	width func() int
}

// Write implements io.Writer.
func (f fittingWriter) Write(line []byte) (int, error) {
	if _, err := io.WriteString(f.w, fitLine(string(line), f.width())); err != nil {
		return 0, err
	}
	return len(line), nil
}

// colour is what ConsoleWriter puts around words.
var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// shownColumns is how wide a text is on a terminal.
func shownColumns(text string) int { return yp.Columns(colour.ReplaceAllString(text, "")) }

// fitLine folds a line to width columns; all but the first begin with two blanks. A word that is wider is cut.
func fitLine(line string, width int) string {
	const indent = "  "
	if shownColumns(line) <= width || width <= 2*len(indent) {
		return line
	}
	var out strings.Builder
	at := 0
	for i, word := range strings.Fields(line) {
		if n := shownColumns(word); i > 0 && at+1+n > width {
			out.WriteString("\n" + indent)
			at = len(indent)
		} else if i > 0 {
			out.WriteByte(' ')
			at++
		}
		word = cutWord(word, width-at)
		out.WriteString(word)
		at += shownColumns(word)
	}
	return out.String() + "\n"
}

// cutWord cuts a word to width columns. All its colours stay, the one that ends them, too.
func cutWord(word string, width int) string {
	if shownColumns(word) <= width {
		return word
	}
	var out strings.Builder
	for word != "" {
		at := colour.FindStringIndex(word)
		if at == nil {
			at = []int{len(word), len(word)}
		}
		if text := word[:at[0]]; text != "" && width > 0 {
			text = yp.Shorten(text, width)
			out.WriteString(text)
			width -= yp.Columns(text)
		}
		out.WriteString(word[at[0]:at[1]])
		word = word[at[1]:]
	}
	return out.String()
}

// escapingWriter keeps JSON log lines from acting on a terminal: encoding
// leaves bidi overrides and C1 controls as they are.
type escapingWriter struct{ w io.Writer }

// Write implements io.Writer.
func (e escapingWriter) Write(line []byte) (int, error) {
	if _, err := e.w.Write(yp.EscapeJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
