package demo

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed html
var markup embed.FS

// frame is what every page has around its content.
type frame struct{ Title, Kind, What, City, State, Where, Heading, Self string }

// plainFrame is the frame of a page that is about no target.
func plainFrame(title, kind string) frame {
	return frame{Title: title, Kind: kind, Heading: title, Self: "/"}
}

// page writes a template that is a whole page.
func (d *Directory) page(name string, data any) []byte {
	var b bytes.Buffer
	b.Grow(256 << 10)
	if err := d.templates.ExecuteTemplate(&b, name+".html", data); err != nil {
		panic(fmt.Sprintf("demo: page %s: %v", name, err)) // the tests write every kind of page
	}
	return b.Bytes()
}

// newTemplates reads the templates, by the names of their files. What surrounds the cards on every page is
// as bulky as on the real site: a part of it, so many times over that it has a size. Its scripts hold markup in
// strings and comparison signs, which a scanner that does not know scripts takes for tags.
func newTemplates() *template.Template {
	part := func(name string) string {
		text, err := markup.ReadFile("html/chrome/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		return strings.TrimSpace(string(text))
	}
	bulk := func(name string, size int) template.HTML {
		return template.HTML(strings.Repeat(part(name), 1+size/len(part(name)))) //nolint:gosec // our own text
	}
	script := `<script>window.YP=window.YP||{};YP.init=function(e,t){"use strict";` + bulk("script.html", 26<<10) + "};</script>"
	parts := map[string]template.HTML{
		"comment": bulk("comment.html", 0), "styles": "<style>" + bulk("style.html", 9<<10) + "</style>",
		"script": script, "menu": bulk("menu.html", 11<<10), "modals": bulk("modal.html", 12<<10),
	}
	return template.Must(template.New("").Delims("[[", "]]").Funcs(template.FuncMap{
		"chrome": func(name string) template.HTML { return parts[name] }, "lower": strings.ToLower,
		"days":    func(hours string) string { return strings.Fields(hours)[0] },
		"times":   func(hours string) string { return cmp.Or(strings.Join(strings.Fields(hours)[1:], " "), "Closed") },
		"join":    func(list []string) string { return strings.Join(list, ", ") },
		"letters": func() []string { return strings.Split("abcdefghijklmnopqrstuvwxyz", "") },
	}).ParseFS(markup, "html/*.html"))
}
