package frame

import (
	"io"
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
// Times are UTC; what goes to a file is read another day, and has its date.
func (p *Invocation) console(w io.Writer) io.Writer {
	layout := "2006-01-02 15:04:05Z"
	if IsTerminal(p.Err) {
		layout = "15:04:05Z"
	}
	return zerolog.ConsoleWriter{
		Out: w, NoColor: !p.color(p.Err), TimeFormat: layout, TimeLocation: time.UTC,
		FieldsExclude: []string{"component"},
		FieldsOrder:   []string{"percent", "targets", "city", "state", "category", "error_code", "reason"},
	}
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
