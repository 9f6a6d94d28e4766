package web

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"ypcrawl/store/report"
)

// field is a filter in a form: a choice, a text, or a switch.
type field struct {
	Name, Label, Value string
	Options            []string
	Switch, On         bool
	Suggested          bool // values of the database are suggested
	Number             bool
}

// fieldOf is a filter as a form has it with a value of the address. A word that is none of the choices is one of them, so that
// the form says what is chosen.
func fieldOf(l report.List, f report.ListFilter, value string) field {
	x := field{
		Name: f.Name, Label: l.Label(f), Value: value, Switch: f.Kind == report.Switch || f.Kind == report.Only,
		Number: f.Kind == report.Number, Suggested: suggested(f),
	}
	for _, v := range f.Values {
		if v != string(report.ListingRejected) || l.View != "v_listings" { // they have a list of their own
			x.Options = append(x.Options, v)
		}
	}
	if i := slices.IndexFunc(f.Values, func(v string) bool { return strings.EqualFold(v, x.Value) }); i >= 0 {
		x.Value = f.Values[i]
	} else if f.Values != nil && value != "" {
		x.Options = append(x.Options, value)
	}
	if x.On = x.Value != ""; !x.On {
		x.Value = f.Default
	}
	return x
}

// suggested reports whether values are suggested for a filter.
func suggested(f report.ListFilter) bool {
	return slices.Contains([]string{"states", "categories", "source"}, f.Name)
}

// filters are the form above a list. It changes with its address alone, so that nothing replaces a form in which
// somebody chooses; what is suggested is beside it.
func (s *Server) filters(path string, l report.List) Part {
	return Part{Name: "filters", Of: path, Asks: asks(l, "sort", "rows"), Read: func(_ context.Context, _ *report.Reader, q url.Values) (any, error) {
		var fields []field
		filtered := false
		for _, f := range narrows(l) {
			fields = append(fields, fieldOf(l, f, q.Get(f.Name)))
			filtered = filtered || q.Get(f.Name) != ""
		}
		return map[string]any{
			"Path": path, "Fields": fields, "Filtered": filtered, "Sort": q.Get("sort"), "Rows": q.Get("rows"),
			"Without": address(path, url.Values{"sort": q["sort"], "rows": q["rows"]}),
		}, nil
	}}
}

// suggestions are the values that the fields of the form suggest.
func (s *Server) suggestions(path string, l report.List) Part {
	type values struct {
		Name string
		All  []report.Suggestion
	}
	return Part{Name: "suggestions", Of: path, Read: func(ctx context.Context, k *report.Reader, _ url.Values) (any, error) {
		var all []values
		for _, f := range narrows(l) {
			if !suggested(f) {
				continue
			}
			some, err := k.Suggestions(ctx, f, s.cfg.Scope)
			if err != nil {
				return nil, err
			}
			all = append(all, values{f.Name, some})
		}
		return all, nil
	}}
}

// address is a path with what is asked of it; what is empty is left out.
func address(path string, q url.Values) string {
	given := url.Values{}
	for name, v := range q {
		if len(v) > 0 && v[0] != "" {
			given.Set(name, v[0])
		}
	}
	if len(given) == 0 {
		return path
	}
	return path + "?" + strings.ReplaceAll(given.Encode(), "+", "%20") // in HTML a + would be a reference
}

// with is what is asked with some of it changed: pairs of a name and its value, "" takes it away.
func with(q url.Values, pairs ...string) url.Values {
	changed := url.Values{}
	for name, v := range q {
		changed[name] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		changed.Set(pairs[i], pairs[i+1])
	}
	return changed
}
