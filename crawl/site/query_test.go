package site

import (
	"fmt"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestDifferences: in what the address that answered is another one than was asked for.
func TestDifferences(t *testing.T) {
	t.Parallel()
	louis := yp.Place{City: "St. Louis", CitySlug: "saint-louis-mo", State: "MO", Category: "Auto Repair & Service", CategorySlug: "auto-repair-service"}
	for _, c := range []struct{ target, search, final, want string }{
		{"/{city_slug}/{category_slug}?page={page}", "", "https://dir.example.com/saint-louis-mo/auto-repair-service?page=3", ""},
		{"/{city_slug}/{category_slug}?page={page}", "", "http://www.dir.example.com:8080/St-Louis-MO/auto-repair-service/?utm=1#top", ""},
		{"/{city_slug}/{category_slug}?page={page}", "", "https://dir.example.com/kansas-city-mo/auto-repair-service", "city_slug kansas-city-mo"},
		{"/{city_slug}/{category_slug}?page={page}", "", "https://dir.example.com/saint-louis-mo/garages", "category_slug garages"},
		{"/{city_slug}/{category_slug}?page={page}", "", "https://dir.example.com/arlington-va/plumbers", "category_slug plumbers, city_slug arlington-va"},
		{"/{state_lower}/{city_name_slug}/{category_slug}-{page}.html", "", "https://dir.example.com/mo/saint-louis/auto-repair-service-2.html", ""},
		{"/{state_lower}/{city_name_slug}/{category_slug}-{page}.html", "", "https://dir.example.com/il/saint-louis/auto-repair-service-1.html", "state_lower il"},
		{"/{city_slug}/{category_slug}?page={page}", "/search?q={category}&where={city}%2C+{state}&page={page}", "https://dir.example.com/search?q=Auto+Repair+%26+Service&where=St.+Louis%2C+MO", ""},
		{"/{city_slug}/{category_slug}?page={page}", "/search?q={category}&where={city}%2C+{state}&page={page}", "https://dir.example.com/search?q=Plumbers&where=saint%20louis,%20mo", "category plumbers"},
		{"/{city_slug}/{category_slug}?page={page}", "/search?q={category}&where={city}%2C+{state}&page={page}", "https://dir.example.com/search?q=Auto+Repair+%26+Service", ""},
		{"/{state_lower}/{city_name_slug}/{category_slug}?page={page}", "", "https://dir.example.com/Missouri/st-louis/auto-repair-service", ""},
		{"/{state_slug}/{city_name_slug}/{category_slug}?page={page}", "", "https://dir.example.com/mo/saint_louis/auto-repair-service", ""},
		{"/{category_slug}-in-{city_slug}?p={page}", "", "https://dir.example.com/auto-repair-service-in-alton-il", "city_slug alton-il"},
		{"/{city_slug}/{category_slug}?page={page}", "", "https://dir.example.com/about", ""},
	} {
		def := strings.Replace(prairieDef, "/{city_slug}/{category_slug}?page={page}", c.target, 1)
		if c.search != "" {
			def = strings.Replace(def, c.target, c.target+"\n  search: '"+c.search+"'", 1)
		}
		s, err := Parse("x", []byte(def))
		noError(t, err)
		var got []string
		for _, d := range s.Differences(urlOf(t, c.final), louis) {
			got = append(got, fmt.Sprint(d.Name, " ", d.Value))
		}
		storetest.Equal(t, strings.Join(got, ", "), c.want, c.target, c.final)
	}
}
