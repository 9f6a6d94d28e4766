package discover

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ypcrawl/yp"
)

// DefaultCategories is what a crawl searches for unless its flags say otherwise:
// ten trades that nearly every place has.
func DefaultCategories() []string {
	return []string{
		"Plumbers", "Electricians", "Restaurants", "Dentists", "Auto Repair & Service",
		"Attorneys", "Roofing Contractors", "Beauty Salons", "Real Estate Agents", "Veterinarians",
	}
}

// known are the categories that are taken without asking. Others are taken
// with Selection.AnyCategory: a directory has thousands.
var known = sync.OnceValue(func() []string { return strings.Split(strings.TrimSpace(categoriesText), "\n") })

//go:embed categories.txt
var categoriesText string

// KnownCategories lists the categories that are taken without asking, by name.
func KnownCategories() []string { return slices.Clone(known()) }

// resolveCategories finds each name among the allowed ones (the source's own
// list, else the known ones). With others, an unknown name is taken as it is typed.
func resolveCategories(names, own []string, others bool) ([]yp.Category, error) {
	if len(names) == 0 {
		names = own
	}
	if len(names) == 0 {
		names = DefaultCategories()
	}
	allowed := own
	if len(allowed) == 0 {
		allowed = known()
	}
	var out []yp.Category
	for _, name := range names {
		c, err := resolveCategory(strings.TrimSpace(name), allowed, others)
		if err != nil {
			return nil, err
		}
		same := func(had yp.Category) bool { return had.Slug == c.Slug }
		if !slices.ContainsFunc(out, same) {
			out = append(out, c)
		}
	}
	return out, nil
}

func resolveCategory(name string, allowed []string, others bool) (yp.Category, error) {
	slug := yp.CategorySlug(name)
	for _, k := range allowed {
		if s := yp.CategorySlug(k); s == slug && slug != "" {
			return yp.Category{Slug: s, Name: k}, nil
		}
	}
	if others && slug != "" {
		return yp.Category{Slug: slug, Name: name}, nil
	}
	for _, k := range allowed {
		if s := yp.CategorySlug(k); yp.OneOf(s) == yp.OneOf(slug) && slug != "" {
			return yp.Category{Slug: s, Name: k}, nil
		}
	}
	hint := ": --any-category takes it as it is typed"
	if near, ok := yp.Nearest(name, allowed); ok {
		hint = fmt.Sprintf(": did you mean %q? (--any-category takes it as it is typed)", near)
	}
	return yp.Category{}, &UnknownError{What: "category", Name: name, Hint: hint}
}
