package site

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// indexDef is the YAML form of a source's state indexes.
type indexDef struct {
	Letters scalar   `yaml:"letters"`
	Cities  []scalar `yaml:"cities"`
	Path    scalar   `yaml:"path"`
	Not     scalar   `yaml:"not"`
	Frame   markDef  `yaml:"frame"`
}

// indexPlaceholders are what the URL of an index may hold: it knows no city.
var indexPlaceholders = []string{"state", "state_lower", "letter"}

// compileIndex makes the state indexes ready, if urls.state_index names any.
func (c *compiled) compileIndex(f *faults) {
	at, d := c.def.URLs.StateIndex, &c.def.Index
	if at.text == "" {
		return
	}
	x := &stateIndex{frame: compileMarks(d.Frame, "index.frame", f)}
	var err error
	if x.pages, err = indexPages(at.text, d.Letters.text); err != nil {
		f.add(at.line, "urls.state_index", err)
		return
	}
	if len(d.Cities) == 0 {
		f.add(f.lineOf("index"), "index", fmt.Errorf("cities %w", errMissing))
	}
	for _, s := range d.Cities {
		group, err := compileSelector(s.text)
		f.add(s.line, "index.cities", err)
		for _, sel := range group {
			x.cities = append(x.cities, simplify(sel))
		}
	}
	x.city, x.slug, err = pathPattern(d.Path.text, "city")
	f.add(d.Path.line, "index.path", err)
	x.not = compileMatch(d.Not, "index.not", f)
	x.paths = x.allPaths()
	c.states = x
}

// indexPages makes a template of each page of an index: the unlettered one,
// from which the parameter with {letter} is left out, and one per letter. An
// index with {letter} in its path has no unlettered page.
func indexPages(text, letters string) ([]*template, error) {
	for _, m := range anyPlaceholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(indexPlaceholders, m[1]) {
			return nil, unknownPlaceholder(m[1])
		}
	}
	if err := checkLetters(letters); err != nil {
		return nil, err
	}
	texts := make([]string, 0, 1+len(letters))
	if plain, ok := unlettered(text); ok {
		texts = append(texts, plain)
	}
	if strings.Contains(text, "{letter}") {
		for _, letter := range letters {
			texts = append(texts, strings.ReplaceAll(text, "{letter}", string(letter)))
		}
	}
	pages := make([]*template, 0, len(texts))
	for _, text := range texts {
		t, err := parseTemplate(text)
		if err != nil {
			return nil, err
		}
		pages = append(pages, t)
	}
	if len(pages) == 0 {
		return nil, errors.New("has {letter} in its path, but index.letters is empty")
	}
	if !pages[0].has("state") && !pages[0].has("state_lower") {
		return nil, errors.New("must hold {state} or {state_lower}")
	}
	return pages, nil
}

var anyPlaceholder = regexp.MustCompile(`\{([^{}]*)\}`)

func unknownPlaceholder(name string) error {
	if near, ok := yp.Nearest(name, indexPlaceholders); ok {
		return fmt.Errorf("unknown placeholder {%s}: did you mean {%s}?", name, near)
	}
	return fmt.Errorf("unknown placeholder {%s}: want one of {%s}", name, strings.Join(indexPlaceholders, "}, {"))
}

// checkLetters admits what can stand in a URL as it is, each once.
func checkLetters(letters string) error {
	for i := range len(letters) {
		c := letters[i]
		if !letter(c) && !digit(c) || strings.IndexByte(letters[:i], c) >= 0 {
			return fmt.Errorf("index.letters %q: want letters and digits, each once", letters)
		}
	}
	return nil
}

// unlettered returns the template without the parameters that hold {letter};
// ok is false when its path holds it.
func unlettered(text string) (plain string, ok bool) {
	path, query, _ := strings.Cut(text, "?")
	if strings.Contains(path, "{letter}") {
		return "", false
	}
	sep := "?"
	for param := range strings.SplitSeq(query, "&") {
		if param != "" && !strings.Contains(param, "{letter}") {
			path, sep = path+sep+param, "&"
		}
	}
	return path, true
}

// pathPattern compiles a regular expression of paths, and finds the group that
// counts: the one of the given name, or the only one.
func pathPattern(text, group string) (re *regexp.Regexp, n int, err error) {
	if text == "" {
		return nil, 0, errMissing
	}
	if re, err = regexp.Compile(text); err != nil {
		return nil, 0, err
	}
	if n = re.SubexpIndex(group); n > 0 {
		return re, n, nil
	}
	if re.NumSubexp() != 1 {
		return nil, 0, fmt.Errorf("%q: want one group, or one named %s", text, group)
	}
	return re, 1, nil
}

// allPaths lists the paths of the index's pages of all states.
func (x *stateIndex) allPaths() map[string]string {
	root := &url.URL{Scheme: "http", Host: "x"}
	paths := make(map[string]string, 64)
	for _, st := range yp.States() {
		for _, t := range x.pages {
			if u, err := url.Parse(t.expand(root, yp.Place{State: st.Code}, 1)); err == nil {
				paths[indexPath(u.Path)] = st.Code
			}
		}
	}
	return paths
}
