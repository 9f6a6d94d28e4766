package report

import (
	"context"
	"strings"

	"ypcrawl/yp"
)

// KnownStates are the states of the sources of a database: each country means its own by a word.
type KnownStates []*yp.StateSet

const statesKnown = `
	SELECT s.id, s.country, x.state IS NOT NULL, ifnull(x.state, ''), ifnull(x.name, '')
	FROM sources s LEFT JOIN source_states x ON x.source_id = s.id
	WHERE ?1 = 0 OR s.id = ?1
	ORDER BY s.id`

// KnownStates returns the states of a source, 0 = of all: those of the USA where there is none.
func (k *Reader) KnownStates(ctx context.Context, sourceID int64) (known KnownStates, err error) {
	type row struct {
		id            int64
		country       string
		own           bool
		state, called string
	}
	rows, err := list(ctx, k, "read the states of the sources", statesKnown, []any{sourceID}, func(r *row) []any {
		return []any{&r.id, &r.country, &r.own, &r.state, &r.called}
	})
	if err != nil {
		return nil, err
	}
	usa := false
	for i := 0; i < len(rows); {
		at, own := rows[i], []yp.State(nil)
		for ; i < len(rows) && rows[i].id == at.id; i++ {
			if rows[i].own {
				own = append(own, yp.State{Code: rows[i].state, Name: rows[i].called})
			}
		}
		switch set := yp.StatesOf(at.country); {
		case len(own) > 0:
			known = append(known, set.Only(own, false))
		case at.country != yp.DefaultCountry:
			known = append(known, set)
		case !usa:
			usa, known = true, append(known, set)
		}
	}
	if len(known) == 0 {
		known = KnownStates{yp.StatesOf(yp.DefaultCountry)}
	}
	return known, nil
}

// Lookup returns the state that one of the sources means by a text.
func (k KnownStates) Lookup(text string) (st yp.State, ok bool) {
	for _, set := range k {
		if st, ok = set.Lookup(text); ok {
			break
		}
	}
	return st, ok
}

// Parse returns the codes that the sources mean by some words, each once. A word that is no state of any is an error, which names the nearest.
func (k KnownStates) Parse(words []string) (codes []string, err error) {
	had := map[string]bool{}
	for _, word := range words {
		var wrong error
		found := false
		for _, set := range k {
			some, err := set.Parse([]string{word})
			if err != nil {
				if wrong == nil || strings.Contains(err.Error(), "did you mean") && !strings.Contains(wrong.Error(), "did you mean") {
					wrong = err
				}
				continue
			}
			found = true
			for _, code := range some {
				if !had[code] {
					had[code], codes = true, append(codes, code)
				}
			}
		}
		if !found {
			return nil, wrong
		}
	}
	return codes, nil
}

// Name returns the name of the state with that code, the first that a source gives it; the code where none does.
func (k KnownStates) Name(code string) string {
	for _, set := range k {
		if name := set.Name(code); name != code {
			return name
		}
	}
	return code
}

// All returns the states of all sources, by code; of one code the first.
func (k KnownStates) All() (all []yp.State) {
	had := map[string]bool{}
	for _, set := range k {
		for _, st := range set.All() {
			if !had[st.Code] {
				had[st.Code], all = true, append(all, st)
			}
		}
	}
	return all
}
