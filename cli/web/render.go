package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"ypcrawl/store"
	"ypcrawl/yp"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// templates are parsed once for all servers of the process.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions()).ParseFS(templateFiles, "templates/*.html"))
})

// functions are what templates may call beside those of html/template. They take the counts of
// models, which are int and int64.
func functions() template.FuncMap {
	return template.FuncMap{
		"thousands": func(n any) string { return yp.Thousands(number(n)) },
		"plural":    func(n any, noun string) string { return yp.Plural(number(n), noun) },
		"ago":       yp.Ago,
		"clock":     yp.ClockTime,
		"percent":   percent,
		"unbroken":  unbroken,
		"coded":     coded,
		"moment":    func(at time.Time) moment { return moment{at} },
		"share":     func(part, whole any) float64 { return share(number(part), number(whole)) },
	}
}

func number(n any) int64 {
	switch n := n.(type) {
	case nil:
		return 0
	case int:
		return int64(n)
	case *int64:
		if n == nil {
			return 0
		}
		return *n
	case int64:
		return n
	}
	panic(fmt.Sprintf("%T is no count", n))
}

// share is part of whole in percent, 0 of nothing.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// percent writes a share with one decimal, as the commands do; only the whole is 100%. A nil
// one is unknown.
func percent(v any) string {
	var p float64
	switch v := v.(type) {
	case float64:
		p = v
	case *float64:
		if v == nil {
			return "unknown"
		}
		p = *v
	}
	text := strings.TrimSuffix(yp.Share(p), "%")
	if p == 0 || p >= 100 {
		text = strings.TrimSuffix(text, ".0")
	}
	return text + "%"
}

// whole are the words of a sentence that no line may break: dates, with their time, and flags.
var whole = regexp.MustCompile(`\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?(?:Z| UTC)?)?|\d\d:\d\d(?::\d\d)?(?:Z| UTC)|--[a-z-]+`)

// unbroken is a text whose dates and times stay on one line.
func unbroken(text string) template.HTML {
	escaped := template.HTMLEscapeString(text)
	return template.HTML(whole.ReplaceAllString(escaped, `<span class="flag">$0</span>`)) //nolint:gosec // it was escaped
}

// backticked is what a terminal has between backticks.
var backticked = regexp.MustCompile("`([^`]*)`")

// coded is a text with its commands as a page shows them.
func coded(text string) template.HTML {
	escaped := template.HTMLEscapeString(text)
	return template.HTML(backticked.ReplaceAllString(escaped, "<code>$1</code>")) //nolint:gosec // it was escaped
}

// fragment is a part as HTML.
type fragment struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
	HTML string `json:"html"`
}

// render makes the HTML of a part of a view; with an err it says that it can't be read, and since when.
func (s *Server) render(v View, p Part, shown Shown, err error) fragment {
	shown.Scope = s.cfg.About
	var out bytes.Buffer
	if err == nil {
		err = templates().ExecuteTemplate(&out, p.Name, shown)
	}
	if err != nil {
		out.Reset()
		if s.stopped.Err() == nil && !s.awaits(err) { // else nothing is wrong but that we end, or keepUp tells it once
			s.cfg.Logger.Warn().Str("component", "web").Str("part", p.Name).Err(err).Msg("a part of the page can't be shown")
		}
		_ = templates().ExecuteTemplate(&out, "unreadable", map[string]any{"Why": s.why(err), "Last": shown.Now, "Now": s.now()})
	}
	html := s.text(relative(out.String(), v.Path))
	h := fnv.New64a()
	_, _ = h.Write([]byte(html))
	return fragment{ID: p.Name, HTML: html, Hash: strconv.FormatUint(h.Sum64(), 36)}
}

// text makes HTML fit for a browser, with the commands in it as they have to be typed here. A page passes it again with its parts.
func (s *Server) text(html string) string {
	command := template.HTMLEscapeString(s.cfg.Command) + " "
	for _, before := range []string{"<code>", "`"} {
		html = strings.ReplaceAll(html, before+command, before+"ypcrawl ")
		html = strings.ReplaceAll(html, before+"ypcrawl ", before+command)
	}
	return printable(html)
}

// deepest bounds how many folders up an address leads: only who types it asks for something deeper.
const deepest = 32

// top leads from an address of the page, its path as a browser sends it, to the page's top: "./" or "../". Where that is
// only the browser knows: a proxy may show the page below a path of its own.
func top(path string) string {
	up := min(strings.Count(path, "/")-1, deepest)
	if up < 1 {
		return "./"
	}
	return strings.Repeat("../", up)
}

// relative changes the addresses in HTML that is served at a path: templates and models write them from the top, and they
// are to lead there from it. It is applied to all that is rendered, so that no template can forget it; a quote in a text is escaped.
func relative(html, path string) string {
	up := top(path)
	for _, attribute := range [...]string{"href", "src", "action"} {
		html = strings.ReplaceAll(html, attribute+`="/`, attribute+`="`+up)
	}
	return html
}

// awaits reports whether the file is gone, and the next one of its name is shown by itself.
func (s *Server) awaits(err error) bool {
	return errors.Is(err, store.ErrReplaced) && s.cfg.Open != nil
}

// why is the cause of a part that can't be shown, for people.
func (s *Server) why(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the database did not answer in time"
	case s.awaits(err):
		return s.cfg.Database + " was removed, moved or replaced; what is there next is shown"
	}
	return err.Error()
}

// printable shows the characters that hide or turn text, which escaping for HTML leaves as they
// are, as Go escapes. It is applied to all that is rendered, so that no template can forget it.
func printable(html string) string {
	if isASCII(html) {
		return html
	}
	lines := strings.Split(html, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for j, cell := range cells {
			cells[j] = yp.Printable(cell)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// link is one of the navigation.
type link struct {
	Path, Word string
	Here       bool
}

// writePage writes a whole page around its parts.
func (s *Server) writePage(w http.ResponseWriter, r *http.Request, v View, parts []fragment) {
	var links []link // the page of a state belongs to that of all
	for _, o := range s.views {
		if o.Nav != "" {
			links = append(links, link{strings.TrimSuffix(o.Path, "{$}"), o.Nav, o.Path == v.Path || strings.HasPrefix(v.Path, o.Path+"/")})
		}
	}
	type section struct {
		ID, Hash string
		HTML     template.HTML
	}
	sections := make([]section, len(parts))
	for i, f := range parts {
		sections[i] = section{f.ID, f.Hash, template.HTML(f.HTML)} //nolint:gosec // a template made it, see render
	}
	s.write(w, r, http.StatusOK, "page",
		map[string]any{"Title": v.Title, "Database": s.cfg.Database, "Links": links, "Parts": sections, "Live": true, "Every": reloads(v)})
}

// reloads is after how many seconds a browser without script loads a page again. What somebody types in a form is lost then.
func reloads(v View) int {
	if slices.ContainsFunc(v.Parts, func(p Part) bool { return p.Name == "filters" || p.Name == "pick" }) {
		return 60
	}
	return 5
}

// refuse answers with a page that says what is wrong, and what to do.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, text, next string) {
	s.write(w, r, status, "refusal", map[string]any{"Title": http.StatusText(status), "Database": s.cfg.Database, "Text": text, "Next": next})
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, name, data); err != nil {
		s.cfg.Logger.Warn().Str("component", "web").Err(err).Msg("a page can't be shown")
		http.Error(w, "The page can't be shown: see the log.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(s.text(relative(out.String(), r.URL.EscapedPath())))) // who is gone needs no answer
}

// serveStatic serves style and script, which change with the program alone, and no list of them.
func serveStatic() http.Handler {
	files := http.FileServerFS(staticFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		files.ServeHTTP(w, r)
	})
}
