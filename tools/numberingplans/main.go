// Numberingplans prints yp/numberingplans.txt: how the phone numbers of countries outside the North American Numbering Plan are
// written, from the metadata of libphonenumber in github.com/nyaruka/phonenumbers. `go generate ./yp` runs it.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

const library = "github.com/nyaruka/phonenumbers"

// head says what the columns are. They are read in yp/numbering.go.
const head = `# Numbering plans of countries. Made by go generate from the metadata of libphonenumber (Apache-2.0) in
# %s %s; do not edit.
# country, calling code, other countries of the same code, lengths of numbers, longest landline, what is dialled before a number
# within the country, what takes its place, what is dialled before a number abroad, a pattern of all numbers, the patterns of each type
# of them; then for each form in which numbers are written there: whether the prefix belongs to it (0 or 1), how such numbers begin, a
# blank, their digits.
`

func main() {
	log.SetFlags(0)
	collection, err := phonenumbers.MetadataCollection()
	if err != nil {
		log.Fatal(err)
	}
	regions := map[int32][]string{}
	for _, m := range collection.GetMetadata() {
		regions[m.GetCountryCode()] = append(regions[m.GetCountryCode()], m.GetId())
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, head, library, version())
	for _, m := range collection.GetMetadata() {
		if m.GetId() != "001" && m.GetCountryCode() != 1 {
			fmt.Fprintln(out, strings.Join(line(m, regions[m.GetCountryCode()]), "\t"))
		}
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

// version returns that of the library.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == library {
			return m.Version
		}
	}
	log.Fatal("not built from a module")
	return ""
}

// line returns the columns of a country, whose calling code is that of several regions.
func line(m *phonenumbers.PhoneMetadata, regions []string) []string {
	others := slices.DeleteFunc(slices.Clone(regions), func(r string) bool { return r == m.GetId() })
	lengths := m.GetGeneralDesc().GetPossibleLength()
	landlines := m.GetFixedLine().GetPossibleLength()
	if len(landlines) == 0 { // the same
		landlines = lengths
	}
	columns := []string{
		m.GetId(), strconv.Itoa(int(m.GetCountryCode())), strings.Join(others, " "), strings.Trim(fmt.Sprint(lengths), "[]"),
		strconv.Itoa(int(slices.Max(landlines))), m.GetNationalPrefixForParsing(), m.GetNationalPrefixTransformRule(),
		m.GetInternationalPrefix(), m.GetGeneralDesc().GetNationalNumberPattern(), types(m),
	}
	return append(columns, forms(m)...)
}

// types returns a pattern of the numbers of all types. Neither it nor that of the general description is enough, as in getNumberTypeHelper
// of libphonenumber: the general one is wider, and Germany's alone says that what begins with 4978 has seven digits at most. The possible
// lengths of a type say nothing that its pattern doesn't.
func types(m *phonenumbers.PhoneMetadata) string {
	var patterns []string
	for _, d := range []*phonenumbers.PhoneNumberDesc{
		m.GetFixedLine(), m.GetMobile(), m.GetTollFree(), m.GetPremiumRate(), m.GetSharedCost(), m.GetVoip(), m.GetPersonalNumber(),
		m.GetPager(), m.GetUan(), m.GetVoicemail(),
	} {
		if p := d.GetNationalNumberPattern(); p != "" && p != "NA" && !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	return strings.Join(patterns, "|")
}

// forms returns in which forms the numbers of a country are written; none where a prefix belongs to none of them.
func forms(m *phonenumbers.PhoneMetadata) (columns []string) {
	prefixed := false
	for _, f := range m.GetNumberFormat() {
		begin, need := "", "0"
		if l := f.GetLeadingDigitsPattern(); len(l) > 0 {
			begin = l[len(l)-1] // the others are for numbers that are still typed
		}
		if needsPrefix(f) {
			prefixed, need = true, "1"
		}
		columns = append(columns, need+begin+" "+f.GetPattern())
	}
	if !prefixed {
		return nil
	}
	return columns
}

var firstGroupOnly = regexp.MustCompile(`^\(?\$1\)?$`)

// needsPrefix reports whether a number in a form is written with the prefix, as isNationalPrefixPresentIfRequired of libphonenumber
// does.
func needsPrefix(f *phonenumbers.NumberFormat) bool {
	r := f.GetNationalPrefixFormattingRule()
	return r != "" && !f.GetNationalPrefixOptionalWhenFormatting() && !firstGroupOnly.MatchString(r)
}
