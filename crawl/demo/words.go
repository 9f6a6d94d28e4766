package demo

import (
	_ "embed" // for the words
	"encoding/json"
	"fmt"
	"sync"
)

// A trade is one category of the directory and the words its businesses use.
type trade struct {
	Name    string   // the category as shown
	Words   []string // what businesses of the trade call their work
	Labels  []string // further categories on their cards
	Chains  []string // chains that have branches everywhere
	Odd     []string // names that trip careless programs; Clean and escaping decide
	Lines   []string // what they say of themselves
	Pricey  bool     // cards may carry a price range
	SitHost string   `json:"site_host"` // a host of their own kind shared by many
}

// vocabulary is what the businesses are made up from. Strange names are what Clean must mend: a no-break space, a
// zero-width space, a terminal escape, a bidi override, markup, tabs and line breaks. Zones are by state, so that addresses
// and numbers look right and keep their leading zeros; numbers use the exchange 555, which belongs to nobody.
type vocabulary struct {
	Trades                                                 []trade
	Surnames, Firsts, Adjectives, Accented, Legal, Strange []string
	StreetNames                                            []string `json:"street_names"`
	StreetTypes                                            []string `json:"street_types"`
	Directions, Payments, Tongues, Quarters                []string
	HourSets                                               [][]string `json:"hour_sets"`
	Zones                                                  map[string]zone
}

// zone has a state's first ZIP prefix, how many there are, and some of its area codes.
type zone struct {
	Zip, Zips int
	Area      []string
}

//go:embed words.json
var wordsFile []byte

var words = sync.OnceValue(func() (v vocabulary) {
	if err := json.Unmarshal(wordsFile, &v); err != nil {
		panic(fmt.Sprintf("demo: words.json: %v", err)) // it is embedded
	}
	return v
})

func trades() []trade { return words().Trades }

// Categories returns the categories of the directory.
func Categories() (names []string) {
	for _, t := range trades() {
		names = append(names, t.Name)
	}
	return names
}
