package yp

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:generate sh -c "go -C ../tools run ./numberingplans >numberingplans.new && mv numberingplans.new numberingplans.txt"

//go:embed numberingplans.txt
var numberingPlans string

// numberingPlan says how the numbers of a country outside the North American Numbering Plan are written on pages of that country, which
// leave out its calling code. It is a line of numberingplans.txt.
type numberingPlan struct {
	code      string         // the calling code
	others    []string       // other countries that have it, too
	lengths   uint32         // bit n: there are numbers of n digits
	landline  int            // how many digits the longest number of a landline has
	prefix    *regexp.Regexp // what is dialled before a number within the country alone, and what takes its place: see withoutPrefix
	transform string
	abroad    *regexp.Regexp        // what is dialled before a number of another country, with all carriers
	numbers   *regexp.Regexp        // those that can be assigned match both this and types
	types     *regexp.Regexp        // landlines, mobile numbers, …
	forms     func() []nationalForm // how they are written; none = always without a prefix
}

// nationalForm is a form in which some numbers of a country are written.
type nationalForm struct {
	begin, digits *regexp.Regexp // which numbers
	prefixed      bool           // what is dialled before a number within the country belongs to it
}

// compiledPlans has the plans of the countries that were asked for: a country and its plan. To compile that of Britain takes a
// millisecond, and a run meets few.
var compiledPlans sync.Map

// planOf returns the plan of a country; nil = it is of the North American one, or nobody lives there.
func planOf(country string) *numberingPlan {
	if plan, ok := compiledPlans.Load(country); ok {
		return plan.(*numberingPlan)
	}
	if len(country) != 2 {
		return nil
	}
	_, line, ok := strings.Cut(numberingPlans, "\n"+country+"\t")
	if !ok {
		return nil
	}
	line, _, _ = strings.Cut(line, "\n")
	plan, _ := compiledPlans.LoadOrStore(country, compilePlan(strings.Split(line, "\t")))
	return plan.(*numberingPlan)
}

// compilePlan makes a plan of the columns behind the country; the head of numberingplans.txt names them.
func compilePlan(columns []string) *numberingPlan {
	p := &numberingPlan{
		code: columns[0], others: strings.Fields(columns[1]), transform: columns[5],
		abroad: beginning(columns[6]), numbers: wholly(columns[7]), types: wholly(columns[8]),
		forms: sync.OnceValue(func() []nationalForm { return compileForms(columns[9:]) }),
	}
	for _, n := range strings.Fields(columns[2]) {
		digits, _ := strconv.Atoi(n)
		p.lengths |= 1 << digits
	}
	p.landline, _ = strconv.Atoi(columns[3])
	if columns[4] != "" {
		p.prefix = beginning(columns[4])
	}
	return p
}

func compileForms(columns []string) (forms []nationalForm) {
	for _, c := range columns {
		begin, digits, _ := strings.Cut(c[1:], " ")
		forms = append(forms, nationalForm{beginning(begin), wholly(digits), c[0] == '1'})
	}
	return forms
}

func beginning(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")") }
func wholly(pattern string) *regexp.Regexp    { return regexp.MustCompile("^(?:" + pattern + ")$") }

// national returns the E.164 form of a number that is without its calling code on a page of a country.
func national(s, country string) (e164 string, ok bool) {
	first, plan := strings.IndexAny(s, "0123456789"), planOf(country)
	if first < 0 || plan == nil {
		return "", false
	}
	s = s[first:]
	zero := min(1, len(s)-len(strings.TrimLeft(s, "0"))) // it is no digit of an area code
	buf, ok := appendDigits(make([]byte, 0, maxDialled), s, zero, maxDialled, true)
	if !ok {
		return "", false
	}
	n, ok := plan.read(string(buf))
	if !ok || len(n) < leastNational(plan.code) || len(plan.code)+len(n) > maxE164 {
		return "", false
	}
	return "+" + plan.code + n, true
}

// maxDialled is how many digits are dialled at most: those of the longest number, and of a carrier before it.
const maxDialled = maxE164 + 5

// read returns the number that is dialled within a country by digits, without what is before it for that alone. Without this
// prefix a number counts where it is written so, or where it is no shorter than the numbers of landlines are: any other may lack its area
// code ("234567" is a number in Berlin, and 567 in Bochum). So does a number behind the calling code that is too long
// without it.
func (p *numberingPlan) read(digits string) (number string, ok bool) {
	if p.dialledAbroad(digits) {
		return "", false
	}
	if n := p.withoutPrefix(digits); n != digits && p.has(n) {
		return n, true
	}
	if p.has(digits) {
		return digits, len(digits) >= p.landline || !p.prefixed(digits)
	}
	n, ok := strings.CutPrefix(digits, p.code)
	if !ok || len(digits) <= p.landline {
		return "", false
	}
	if !p.has(n) {
		n = p.withoutPrefix(n)
	}
	return n, p.has(n)
}

// dialledAbroad reports whether digits are those of a call to another country: a calling code, which no zero begins, follows.
func (p *numberingPlan) dialledAbroad(digits string) bool {
	at := p.abroad.FindStringIndex(digits)
	return at != nil && !strings.HasPrefix(digits[at[1]:], "0")
}

// withoutPrefix returns a number without what is dialled before it within the country alone. In Argentina, Brazil and on some islands
// this is transformed, rather than left out: a mobile number is dialled 011 15 2345 6789 within Argentina, and 9 11 2345 6789 from abroad. It
// does what maybeStripNationalPrefixAndCarrierCode of libphonenumber does.
func (p *numberingPlan) withoutPrefix(number string) string {
	if p.prefix == nil {
		return number
	}
	at := p.prefix.FindStringSubmatchIndex(number)
	switch {
	case at == nil:
		return number
	case p.transform == "" || at[len(at)-2] < 0: // the last group stands for the rest of the number
		return number[at[1]:]
	}
	return string(p.prefix.ExpandString(nil, p.transform, number, at)) + number[at[1]:]
}

// has reports whether there can be such a number in the country, or in another one with its calling code.
func (p *numberingPlan) has(number string) bool {
	return p.assigns(number) || slices.ContainsFunc(p.others, func(country string) bool { return planOf(country).assigns(number) })
}

func (p *numberingPlan) assigns(number string) bool {
	return len(number) < 32 && p.lengths&(1<<len(number)) != 0 && p.numbers.MatchString(number) && p.types.MatchString(number)
}

// prefixed reports whether a number is written with the prefix within the country.
func (p *numberingPlan) prefixed(number string) bool {
	for _, f := range p.forms() {
		if f.begin.MatchString(number) && f.digits.MatchString(number) {
			return f.prefixed
		}
	}
	return false
}

// inPlan reports whether there can be such a number behind a calling code.
func inPlan(code, number string) bool {
	for line := range strings.Lines(numberingPlans) {
		if country, rest, _ := strings.Cut(line, "\t"); strings.HasPrefix(rest, code+"\t") {
			return planOf(country).has(number)
		}
	}
	return false
}

// mobileOfArgentina returns a number behind +54 with the 9 that mobile ones have there: pages write the 15 behind the area code
// that is dialled within the country alone, too.
func mobileOfArgentina(number string) string {
	plan := planOf("AR")
	if n := plan.withoutPrefix(number); !plan.has(number) && plan.has(n) {
		return n
	}
	return number
}
