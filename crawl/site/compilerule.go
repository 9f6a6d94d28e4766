package site

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// compileRuleSet compiles the rules of a field, whose name ends at. x has their selectors; nil = there can be none.
func (c *compiled) compileRuleSet(x *region.Selectors, list []ruleDef, at string, f *faults) (out field) {
	address := slices.Contains(addressFields, at[strings.LastIndexByte(at, '.')+1:])
	for i, d := range list {
		if d.alone && (c.isJSON() || x == nil) {
			d.CSS, d.JSON = "", d.CSS
		}
		r := rule{sel: -1, attr: strings.ToLower(d.Attr), own: d.Own, scale: cmp.Or(d.Scale, 5), header: http.CanonicalHeaderKey(d.Head)}
		r.data = d.Head != "" || d.JSON != "" && d.Attr == ""
		r.count = slices.Contains(countFields, at)
		r.address, r.link = address && (r.attr != "" || r.data || len(d.Steps) > 0), holdsAddress(r.attr)
		r.steps = compileSteps(d.Steps, f.item(at, i)+".steps", r.count, f)
		r.every = d.All
		err := r.compileJSON(d.JSON)
		switch {
		case err != nil:
		case r.data:
			err = c.checkData(&d, at)
		case x == nil || c.isJSON():
			err = errNoPath
		case d.CSS == "" && d.Attr == "":
			err = errNoRule
		}
		switch {
		case err != nil:
		case d.All && !isList(at):
			err = errors.New("all: only the rules of a field that is a list may have it")
		case d.Scale != 0 && at != "fields.rating":
			err = errors.New("scale: only the rules of the field rating may have it")
		case checkScale(d.Scale) != nil:
			err = checkScale(d.Scale)
		case d.Match != "":
			if r.match, err = regexp.Compile(d.Match); err != nil {
				err = fmt.Errorf("match: %w", err)
			}
		}
		if err == nil && d.CSS != "" {
			r.sel, err = x.Add(d.CSS)
		}
		if err != nil {
			f.add(itemPath(at, i), err)
			continue
		}
		out = append(out, r)
	}
	return out
}

// compileJSON makes the path within the rule's attribute ready. One of a single name is read as it always was, see
// structured.Member.
func (r *rule) compileJSON(text string) error {
	if text == "" {
		return nil
	}
	path, err := jsondoc.Compile(text)
	if err != nil {
		return fmt.Errorf("json: %w", err)
	}
	r.text = text
	if r.json = path.Key(); r.every || r.data {
		r.json, r.path = "", &path
	} else if r.json == "" || strings.Trim(r.json, "0123456789") == "" {
		r.path = &path
	}
	return nil
}

// isList reports whether the field whose name ends a path is a list.
func isList(at string) bool {
	i := yp.ListingFieldAt(at[strings.LastIndexByte(at, '.')+1:])
	if i < 0 {
		return false
	}
	_, list := yp.ListingFields[i].At(&yp.Listing{}).(*[]string)
	return list
}

// countFields are those whose texts are read as counts.
var countFields = []string{"total", "shown", "fields.review_count"}

// checkScale says what is wrong with the end of a scale of ratings; 0 = the definition names none.
func checkScale(best float64) error {
	if best == 0 || best >= 1 && best <= 1000 {
		return nil
	}
	return fmt.Errorf("scale %v: want the best rating that the site gives, such as 10", best)
}

// holdsAddress reports whether an attribute of that name most likely holds an address: href, data-src, data-url.
func holdsAddress(attr string) bool {
	return attr == "href" || attr == "src" || strings.HasSuffix(attr, "url") || strings.HasSuffix(attr, "-src") ||
		strings.HasSuffix(attr, "-href")
}
