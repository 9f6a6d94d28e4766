package site

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// Usable says why no crawl can go by the definition, although it reads pages: it has no places, or a format that no value of its country
// has. The error is one or more DefinitionErrors, joined.
func (s *Source) Usable() error { return s.unfit }

// checkCountry finds out what Usable says.
func (c *compiled) checkCountry(f *faults) {
	found := &faults{name: f.name, at: f.at}
	if c.country != yp.DefaultCountry {
		if c.cities == nil && len(c.def.States) == 0 && c.states == nil {
			found.add("country", fmt.Errorf("ypcrawl does not know the places of %s: name a file under cities, or list states, or describe an index of cities "+
				"under urls.state_index", c.country))
		} else if c.cities == nil && c.states != nil && !c.states.whole && len(c.stateSet.All()) == 0 {
			found.add("urls.state_index", fmt.Errorf("ypcrawl does not know the states of %s: list them under states", c.country))
		}
		if len(c.def.Categories) == 0 {
			found.add("country", fmt.Errorf("categories is missing: the default ones are in English, and the country is %s", c.country))
		}
	}
	for i := range c.rules.formats {
		x := &c.rules.formats[i]
		at, err := "rules.formats."+x.field.Name, c.neverHolds(x)
		if _, _, ok := f.find(at); err != nil && !ok {
			at, err = "country", fmt.Errorf("%s, taken from %s (extends): %w", at, c.def.Extends, err)
		}
		found.add(at, err)
	}
	c.unfit = errors.Join(found.errs...)
}

// neverHolds says why no value of the source's country has a format; nil = one may.
func (c *compiled) neverHolds(x *format) error {
	switch {
	case x.kind == kindState && len(c.stateSet.All()) == 0:
		return fmt.Errorf("nothing can match kind: state, because ypcrawl does not know the states of %s: list them under states", c.country)
	case x.match == nil:
	case x.field.Name == "postal_code" && c.country != yp.DefaultCountry:
		forms := yp.PostalForms(c.country)
		if len(forms) > 0 && !slices.ContainsFunc(forms, func(form string) bool { return mayMatch(x.match.String(), form) }) {
			return fmt.Errorf("%s can't match a postal code of %s; these look like %s (# is a digit, @ a letter)", x.match, c.country,
				strings.Join(forms, " or "))
		}
	case x.field.Name == "state" && (c.cities != nil || len(c.def.States) > 0):
		codes := slices.DeleteFunc(c.stateSet.Codes(), func(code string) bool { return code == "" })
		if len(codes) > 0 && !slices.ContainsFunc(codes, x.match.MatchString) {
			return fmt.Errorf("%s matches none of the source's states, such as %s", x.match, codes[0])
		}
	}
	return nil
}

// mayMatch reports whether a regular expression matches a text of a form: # is a digit, @ a capital letter, * one of both, anything else
// stands for itself. Word boundaries count for nothing: where they decide, it says yes.
func mayMatch(expr, form string) bool {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return true
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return true
	}
	now := map[uint32]bool{}
	for at := range len(form) + 1 {
		follow(prog, uint32(prog.Start), at, len(form), now) // it may begin anywhere
		next := map[uint32]bool{}
		for pc := range now {
			in := &prog.Inst[pc]
			if in.Op == syntax.InstMatch {
				return true
			}
			if at < len(form) && slices.ContainsFunc([]byte(signsOf(form[at])), func(c byte) bool { return in.MatchRune(rune(c)) }) {
				follow(prog, in.Out, at+1, len(form), next)
			}
		}
		now = next
	}
	return false
}

// signsOf are the signs that a letter of a form is for.
func signsOf(form byte) string {
	const digits, letters = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	switch form {
	case '#':
		return digits
	case '@':
		return letters
	case '*':
		return digits + letters
	}
	return string(rune(form))
}

// follow adds the instructions that read a sign, or match, and are reached from pc without one, at a place of a text of n signs.
func follow(prog *syntax.Prog, pc uint32, at, n int, into map[uint32]bool) {
	if into[pc] {
		return
	}
	in := &prog.Inst[pc]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		into[pc] = true
		follow(prog, in.Out, at, n, into)
		follow(prog, in.Arg, at, n, into)
	case syntax.InstCapture, syntax.InstNop:
		into[pc] = true
		follow(prog, in.Out, at, n, into)
	case syntax.InstEmptyWidth:
		need := syntax.EmptyOp(in.Arg)
		if need&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0 && at > 0 || need&(syntax.EmptyEndText|syntax.EmptyEndLine) != 0 && at < n {
			return
		}
		into[pc] = true
		follow(prog, in.Out, at, n, into)
	case syntax.InstFail:
	default:
		into[pc] = true
	}
}

// readState reads the state of a listing, see yp.StateSet.Read.
func (c *compiled) readState(text string) string { return c.stateSet.Read(yp.TrimPlace(text)) }

// readPostalCode reads a postal code by the forms of the source's country. Outside of the USA a format of the definition decides alone.
func (c *compiled) readPostalCode(text string) string {
	code := yp.PostalCodeIn(text, c.country)
	if code == "" && c.country != yp.DefaultCountry && c.rules.has("postal_code") {
		return yp.TrimPlace(text)
	}
	return code
}

// has reports whether the definition gives a format of a field.
func (r *rulebook) has(field string) bool {
	return slices.ContainsFunc(r.formats, func(f format) bool { return f.field.Name == field })
}
