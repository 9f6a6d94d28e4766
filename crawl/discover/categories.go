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

// resolveCategories finds each name by its slug among those of the source's definition, else among
// the known ones. With others, an unknown name is taken as it is typed.
func resolveCategories(names, own []string, others bool) (out []yp.Category, err error) {
	allowed := own
	if len(own) == 0 {
		allowed, own = known(), DefaultCategories()
	}
	if len(names) == 0 {
		names = own
	}
	for _, name := range names {
		c := yp.Category{Slug: yp.CategorySlug(name), Name: strings.TrimSpace(name)}
		i := slices.IndexFunc(allowed, func(k string) bool { return yp.CategorySlug(k) == c.Slug })
		if i < 0 && !others { // "Plumber" is "Plumbers"
			i = slices.IndexFunc(allowed, func(k string) bool { return yp.OneOf(yp.CategorySlug(k)) == yp.OneOf(c.Slug) })
		}
		switch {
		case i >= 0 && c.Slug != "":
			c = yp.Category{Slug: yp.CategorySlug(allowed[i]), Name: allowed[i]}
		case !others || c.Slug == "":
			hint := "; --any-category accepts it as typed"
			if near, ok := yp.Nearest(c.Name, allowed); ok {
				hint = fmt.Sprintf(": did you mean %q? (--any-category accepts it as typed)", near)
			}
			return nil, fmt.Errorf("--categories: unknown category %q%s", c.Name, hint)
		}
		if !slices.ContainsFunc(out, func(had yp.Category) bool { return had.Slug == c.Slug }) {
			out = append(out, c)
		}
	}
	return out, nil
}
