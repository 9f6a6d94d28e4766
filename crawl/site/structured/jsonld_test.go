package structured

import (
	"encoding/json"
	"html"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ypcrawl/yp"
)

func TestBusinesses(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   int
	}{
		"array":             {`[{"@type":"LocalBusiness","name":"A"},{"@type":"LocalBusiness","name":"A"}]`, 2},
		"object":            {` {"@type":"LocalBusiness","name":"A"} `, 1},
		"schema.org prefix": {`{"@type":["x","http://schema.org/LocalBusiness"],"name":"A"}`, 1},
		"subtype":           {`{"@type":"Plumber","url":"/a","telephone":"1"}`, 1},
		"graph":             {`{"@graph":[{"@type":"LocalBusiness","name":"A"}]}`, 1},
		"item list":         {`{"@type":"ItemList","itemListElement":[{"@type":"ListItem","item":{"@type":"LocalBusiness","name":"A"}}]}`, 1},
		"wrapper in a list": {`{"@type":"ItemList","itemListElement":[{"position":1,"item":{"@type":"LocalBusiness","name":"A"}}]}`, 1},
		"wrapper":           {`{"item":{"@type":"LocalBusiness","name":"A"}}`, 1},
		"graph in a list":   {`{"itemListElement":[{"@graph":[{"@type":"LocalBusiness","name":"A"}]}]}`, 1},
		"other things":      {`[{"@type":"WebSite","url":"/"},1,null,"x",[]]`, 0},
		"no type":           {`{"url":"/a","telephone":"1"}`, 0},
		"truncated":         {`[{"@type":"LocalBusiness","name":"A"},{"@type":"Loc`, 0},
		"trailing":          {`{"@type":"LocalBusiness","name":"A"} x`, 0},
		"empty":             {``, 0},
		"deep":              {strings.Repeat("[", 100_000), 0},
		"deep and balanced": {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), 0},
		"odd values":        {`{"@type":"LocalBusiness","address":"12 Main","openingHours":{"a":[{}]},"aggregateRating":[1],"url":{"x":1}}`, 1},
		"missing colon":     {`{"@type" "LocalBusiness"}`, 0},
		"stray comma":       {`{"@type":"LocalBusiness","name":"A",}`, 1},
		"half a string":     {`{"@type":"LocalBusiness\"}`, 0},
		"escaped type":      {`{"@type":"Local\u0042usiness","name":"A"}`, 1},
		"escaped slashes":   {`{"@type":"http:\/\/schema.org\/LocalBusiness","name":"A"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ReadScripts([]string{"{bad", c.script}); len(got) != c.want {
				t.Errorf("got %d, want %d", len(got), c.want)
			}
		})
	}
}

// TestRepair: what pages put into JSON is taken out of it.
func TestRepair(t *testing.T) {
	const acme = `{"@type":"Plumber","name":"Acme","url":"https://acme.example/a//b","description":"x"}`
	for name, script := range map[string]string{
		"comments":             "/* a */ // b\n" + strings.Replace(acme, ",", ", // c\n /* d */ ", 1) + "// e",
		"CDATA":                "//<![CDATA[\n" + acme + "\n//]]>",
		"CDATA in comments":    "/*<![CDATA[*/" + acme + "/*]]>*/",
		"hidden from browsers": "<!--\n" + acme + "\n-->",
		"HTML comment":         strings.Replace(acme, ",", ",<!-- x -->", 1),
		"semicolon":            acme + ";",
		"byte order mark":      "\ufeff" + acme,
		"comma at the end":     strings.Replace(acme, "}", " , \n}", 1),
		"comma and comment":    strings.Replace(acme, "}", ",/* x */}", 1),
		"line break in a text": strings.Replace(acme, `"x"`, "\"x\ny\tz\"", 1),
		"escaped apostrophe":   strings.Replace(acme, `"x"`, `"it\'s \\"`, 1),
		"HTML-escaped":         html.EscapeString(acme),
		"several values":       `{"@type":"WebSite"}` + acme + " []",
		"other escapes":        strings.Replace(acme, `"x"`, `"a\&b \x41 \u12"`, 1),
		"numbers":              strings.Replace(acme, `"x"`, `[02134,.5,5.,-.5,+1,NaN,-Infinity]`, 1),
		"undefined":            strings.Replace(acme, `"x"`, `undefined`, 1),
		"marks in a text":      strings.Replace(acme, `"x"`, `"// <!-- /* ,] ; ]]>",`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			got := ReadScripts([]string{"{", script, "]"})
			if len(got) != 1 || got[0].Name != "Acme" || got[0].URL != "https://acme.example/a//b" {
				t.Errorf("got %+v of %s", got, script)
			}
		})
	}
}

// TestRepairedValues: what a value that is not valid reads as.
func TestRepairedValues(t *testing.T) {
	for written, want := range map[string]string{
		`"a\&b \x41 \u12 \u00e9"`: "a&b x41 \ufffd12 é", "02134": "02134", ".5": ".5", "5.": "5.", "NaN": "", "undefined": "", `["a",]`: "a",
	} {
		got := ReadScripts([]string{`{"@type":"Plumber","name":"A","description":` + written + ",}"})
		if len(got) != 1 || got[0].Name != "A" || got[0].Description() != want {
			t.Errorf("%s: got %+v, want %q", written, got, want)
		}
	}
}

// TestValues: which values count where a business has several, or wraps one.
func TestValues(t *testing.T) {
	for members, want := range map[string]struct {
		name, state string
		rating      float64
		reviews     int
	}{
		`"name":"A"`:                                             {name: "A"},
		`"name":"B","name":"A"`:                                  {name: "A"},
		`"name":{"@value":"A"}`:                                  {name: "A"},
		`"name":[{"@value":"A"}]`:                                {name: "A"},
		`"name":{"@value":"A","@language":"en"}`:                 {name: "A"},
		`"name":"A","address":{"addressRegion":"IL"}`:            {name: "A", state: "IL"},
		`"name":"A","address":{"addressRegion":{"@value":"IL"}}`: {name: "A", state: "IL"},
		`"name":"A","aggregateRating":[{"@type":"x"},{"ratingValue":5,"reviewCount":2}]`:         {name: "A", rating: 5, reviews: 2},
		`"name":"A","aggregateRating":{"ratingValue":1,"ratingValue":5,"reviewCount":2}`:         {name: "A", rating: 5, reviews: 2},
		`"name":"A","aggregateRating":{"ratingValue":{"@value":5},"reviewCount":{"@value":"2"}}`: {name: "A", rating: 5, reviews: 2},
	} {
		got := ReadScripts([]string{`{"@type":"Plumber",` + members + "}"})
		if len(got) != 1 {
			t.Fatalf("%s: got %+v", members, got)
		}
		b := got[0]
		rating, reviews := b.Rating()
		if b.Name != want.name || b.Address().State != want.state || rating != want.rating || reviews != want.reviews {
			t.Errorf("%s: got %q, %+v, %v of %d", members, b.Name, b.Address(), rating, reviews)
		}
	}
}

// TestBounds: what is too large or too deep is passed over, and what is beside it is not.
func TestBounds(t *testing.T) {
	const acme = `{"@type":"Plumber","name":"Acme"}`
	deep := strings.Repeat(`{"@graph":[`, 2000) + acme + strings.Repeat("]}", 2000)
	list := `{"@type":"ItemList","itemListElement":[` + strings.Repeat(acme+",", 99) + acme + "]}"
	for name, c := range map[string]struct {
		scripts []string
		want    int
	}{
		"deep":                     {[]string{`[` + deep + `,` + acme + `]`}, 1},
		"large":                    {[]string{`["` + strings.Repeat("x", maxScript) + `",` + acme + `]`, acme}, 1},
		"a list of a hundred":      {[]string{list}, 100},
		"more than are returned":   {[]string{"[" + strings.Repeat(acme+",", MaxBusinesses) + acme + "]"}, MaxBusinesses},
		"more items than are read": {[]string{"[" + strings.Repeat(`{"a":{}},`, maxItems) + acme + "]"}, 0},
	} {
		if got := ReadScripts(c.scripts); len(got) != c.want {
			t.Errorf("%s: got %d, want %d", name, len(got), c.want)
		}
	}
}

func TestHours(t *testing.T) {
	for spec, want := range map[string]string{
		`{"dayOfWeek":["https://schema.org/Monday","Tuesday"],"opens":"08:00:00","closes":"17:00"}`: "Mo,Tu 08:00-17:00",
		`{"dayOfWeek":"Su","opens":"00:00","closes":"00:00"}`:                                       "closed",
		`{"dayOfWeek":"schema.org/Monday","opens":"08:00","closes":"17:00"}`:                        "Mo 08:00-17:00",
		`{"dayOfWeek":"schema:Monday","opens":"08:00","closes":"17:00"}`:                            "Mo 08:00-17:00",
		`{"dayOfWeek":"Monday, Tuesday","opens":"08:00","closes":"17:00"}`:                          "Mo-Tu 08:00-17:00",
		`{"dayOfWeek":"by appointment","opens":"08:00","closes":"17:00"}`:                           "",
		`{"dayOfWeek":"Sunday"}`:                                                           "closed",
		`{"dayOfWeek":"Fri","opens":"9:00 AM","closes":"5:00 PM"}`:                         "Fr 09:00-17:00",
		`{"dayOfWeek":"Friday","opens":"2026-01-01T09:00","closes":"noon"}`:                "Fr 09:00-12:00",
		`{"dayOfWeek":"Friday","opens":"09:00"}`:                                           "",
		`{"dayOfWeek":"PublicHolidays","opens":"09:00","closes":"12:00"}`:                  "",
		`{"opens":"09:00","closes":"12:00"}`:                                               "",
		`{"dayOfWeek":"Friday","opens":"09:00","closes":"12:00","validFrom":"2026-12-24"}`: "",

		`{"dayOfWeek":"Friday","opens":"09:00","closes":"12:00","validFrom":"","validThrough":""}`: "Fr 09:00-12:00",
	} {
		if got := hoursText(t, `"openingHoursSpecification":`+spec); got != want {
			t.Errorf("%s: got %q, want %q", spec, got, want)
		}
	}
}

// hoursText returns the hours of a business as one text: "closed" for an empty list, "" for none.
func hoursText(t *testing.T, said string) string {
	t.Helper()
	reader := Reader{Day: time.Date(2026, 11, 28, 23, 0, 0, 0, time.UTC)}
	got := reader.Scripts([]string{`{"@type":"Plumber",` + said + `}`})
	if len(got) != 1 {
		t.Fatalf("%s: %d businesses", said, len(got))
	}
	hours := got[0].Hours()
	if hours != nil && len(hours) == 0 {
		return "closed"
	}
	return strings.Join(hours, ";")
}

// TestHoursTogether: what one part of a business's hours makes of the others.
func TestHoursTogether(t *testing.T) {
	const (
		monday  = `{"dayOfWeek":"Monday","opens":"09:00","closes":"17:00"}`
		always  = `{"dayOfWeek":"Monday","opens":"09:00","closes":"17:00","validFrom":"2020-01-01","validThrough":"2099-12-31"}`
		special = `{"dayOfWeek":["Monday","Saturday"],"opens":"00:00","closes":"00:00","validFrom":"2026-11-20","validThrough":"2026-12-05"}`
	)
	for said, want := range map[string]string{
		`"openingHours":"Mo-Su"`:                                                "Mo-Su 00:00-24:00",
		`"openingHours":["Mo-Fr 09:00-17:00","Sa"]`:                             "Mo-Fr 09:00-17:00;Sa 00:00-24:00",
		`"openingHours":["Mo-Fr 9:00 am - 5:00 pm","Sa-Su Closed"]`:             "Mo-Fr 09:00-17:00",
		`"openingHours":"Mo-Su Closed"`:                                         "closed",
		`"openingHours":"Mo,Tu 09:00-17:00"`:                                    "Mo,Tu 09:00-17:00",
		`"openingHours":["Mo-Fr 09:00-17:00","Sa by appointment"]`:              "",
		`"openingHours":"by appointment","openingHoursSpecification":` + monday: "Mo 09:00-17:00",
		`"openingHours":""`:                                                     "",
		`"openingHours":[]`:                                                     "",

		`"openingHoursSpecification":[` + monday + `,{"dayOfWeek":"Tuesday","opens":"9ish","closes":"17:00"}]`:                     "",
		`"openingHoursSpecification":[` + monday + `,{"dayOfWeek":"Someday","opens":"09:00","closes":"17:00"}]`:                    "",
		`"openingHoursSpecification":[` + monday + `,{"dayOfWeek":"Sunday","opens":"00:00","closes":"00:00"}]`:                     "Mo 09:00-17:00",
		`"openingHoursSpecification":[` + monday + `,{"dayOfWeek":"PublicHolidays","opens":"10:00","closes":"11:00"}]`:             "Mo 09:00-17:00",
		`"openingHoursSpecification":[` + monday + `,{"dayOfWeek":["Friday","PublicHolidays"],"opens":"10:00","closes":"11:00"}]`:  "Mo 09:00-17:00;Fr 10:00-11:00",
		`"openingHoursSpecification":{"dayOfWeek":"http://purl.org/goodrelations/v1#Monday","opens":"08:00","closes":"17:00"}`:     "Mo 08:00-17:00",
		`"openingHoursSpecification":{"dayOfWeek":{"@id":"https://schema.org/Monday"},"opens":"09:00","closes":"17:00"}`:           "Mo 09:00-17:00",
		`"openingHoursSpecification":{"dayOfWeek":[{"@id":"schema:Monday"},{"@id":"gr:Friday"}],"opens":"09:00","closes":"17:00"}`: "Mo,Fr 09:00-17:00",

		`"openingHoursSpecification":` + always:                                                                     "Mo 09:00-17:00",
		`"openingHoursSpecification":[` + always + `,` + special + `]`:                                              "Mo 09:00-17:00",
		`"openingHoursSpecification":[` + monday + `,` + special + `]`:                                              "Mo 09:00-17:00",
		`"openingHoursSpecification":` + strings.ReplaceAll(always, "2099", "2025"):                                 "",
		`"openingHoursSpecification":` + strings.ReplaceAll(always, "2020", "2027"):                                 "",
		`"openingHoursSpecification":` + strings.ReplaceAll(always, "2099-12-31", "2026-11-28"):                     "Mo 09:00-17:00",
		`"openingHoursSpecification":` + strings.ReplaceAll(always, "2020-01-01", "2026-11-28"):                     "Mo 09:00-17:00",
		`"openingHoursSpecification":` + strings.ReplaceAll(always, "2020-01-01", "2020-01-01T00:00:00Z"):           "Mo 09:00-17:00",
		`"openingHoursSpecification":` + strings.ReplaceAll(always, "2020-01-01", "1.1.2020"):                       "",
		`"openingHoursSpecification":` + strings.ReplaceAll(always, `,"validThrough":"2099-12-31"`, ""):             "Mo 09:00-17:00",
		`"openingHoursSpecification":{"dayOfWeek":"Saturday","validFrom":"2026-11-28","validThrough":"2026-11-28"}`: "",
	} {
		if got := hoursText(t, said); got != want {
			t.Errorf("%s: got %q, want %q", said, got, want)
		}
	}
}

// TestNamesInOtherLetters: properties are read in any letter case, and the one in schema.org's own counts.
func TestNamesInOtherLetters(t *testing.T) {
	for script, want := range map[string]string{
		`{"@type":"Plumber","Name":"Acme","Url":"/biz/1","Telephone":"(202) 555-0123"}`:                       "Acme|/biz/1|(202) 555-0123|",
		`{"@TYPE":"Plumber","NAME":"Acme","URL":"/biz/1","TELEPHONE":"(202) 555-0123"}`:                       "Acme|/biz/1|(202) 555-0123|",
		`{"Type":"Plumber","name":"Acme","Address":{"StreetAddress":"1 Main St","addresslocality":"Austin"}}`: "Acme||||1 Main St|Austin",
		`{"@type":"Plumber","NAME":"ACME","name":"Acme"}`:                                                     "Acme|||",
		`{"@type":"Plumber","name":"Acme","NAME":"ACME"}`:                                                     "Acme|||",
		`{"@Graph":[{"@Type":"Plumber","Name":"Acme"}]}`:                                                      "Acme|||",
		`{"@type":"Plumber","http://schema.org/Name":"Acme"}`:                                                 "Acme|||",
		`{"@type":"Plumber","name":"Acme","` + strings.Repeat("N", 5000) + `":"x"}`:                           "Acme|||",
	} {
		got := ReadScripts([]string{script})
		if len(got) != 1 {
			t.Errorf("%.60s: %d businesses", script, len(got))
			continue
		}
		phone, _ := got[0].Phone()
		a := got[0].Address()
		text := strings.Join([]string{got[0].Name, got[0].URL, phone, "", a.Street, a.City}, "|")
		if !strings.HasPrefix(text, want) {
			t.Errorf("%.60s: got %s, want %s", script, text, want)
		}
	}
}

// TestWrappers: businesses are found in what a site made up around them, and nothing that only has to do with one is.
func TestWrappers(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 2000) + `{"@type":"Plumber","name":"A"}` + strings.Repeat("}", 2000)
	for script, want := range map[string]string{
		`{"localBusiness":{"name":"A","telephone":"1"}}`:                                           "A",
		`{"localBusiness":[{"name":"A"},{"name":"B"}]}`:                                            "A,B",
		`{"LocalBusiness":{"@type":"Plumber","name":"A"}}`:                                         "A",
		`{"localBusinesses":[{"name":"A"},{"name":"B"}]}`:                                          "A,B",
		`{"restaurants":[{"name":"A"}],"bookStore":{"name":"B"}}`:                                  "A,B",
		`{"data":{"results":[{"@type":"Plumber","name":"A"},{"@type":"Plumber","name":"B"}]}}`:     "A,B",
		`{"data":{"results":[{"name":"A","telephone":"1"}]}}`:                                      "",
		`[{"localBusiness":{"name":"A"}},{"localBusiness":{"name":"B"}}]`:                          "A,B",
		`{"@type":"WebPage","localBusiness":{"name":"A"}}`:                                         "A",
		`{"@type":"WebPage","publisher":{"@type":"LocalBusiness","name":"A"}}`:                     "",
		`{"publisher":{"@type":"LocalBusiness","name":"A"},"Author":{"@type":"Store","name":"B"}}`: "",
		`{"localBusiness":"A"}`:                           "",
		`{"localBusiness":{"telephone":"1"}}`:             "",
		`{"localBusiness":{"@type":"Person","name":"A"}}`: "",
		`{"store":{"name":"A","store":{"name":"B"}}}`:     "A",
		deep: "",
	} {
		var names []string
		for _, b := range ReadScripts([]string{script}) {
			names = append(names, b.Name)
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%.70s: got %s, want %s", script, got, want)
		}
	}
}

func TestMore(t *testing.T) {
	got := ReadScripts([]string{`{"@type":"Plumber","description":"Pipes &amp; more","knowsLanguage":["English",{"@type":"Language","name":"Spanish"}],
"hasOfferCatalog":{"name":"All","itemListElement":[{"@type":"OfferCatalog","name":"Drains","itemListElement":[{"itemOffered":{"name":"Cleaning"}},{"itemOffered":{"name":"Repair"}}]},{"name":"Boilers"}]},
"makesOffer":["Advice"],"email":"a@acme.example","foundingDate":1998,"paymentAccepted":"Cash","geo":{"latitude":39.8,"longitude":"-89.6"},"sameAs":"https://x.com/acme"}`})
	want := More{
		Emails: []string{"a@acme.example"}, Founded: "1998", Payment: []string{"Cash"}, Languages: []string{"English", "Spanish"},
		Services: []string{"Cleaning", "Repair", "Boilers", "Advice"}, Social: []string{"https://x.com/acme"}, Positions: [][2]string{{"39.8", "-89.6"}, {"", ""}},
	}
	if more := got[0].More(); !reflect.DeepEqual(more, want) || got[0].Description() != "Pipes & more" {
		t.Errorf("got %+v, %q, want %+v", more, got[0].Description(), want)
	}
}

// FuzzJSONLD compares what is read of a script with what encoding/json reads, and checks that
// all that is valid is read.
func FuzzJSONLD(f *testing.F) {
	for _, s := range []string{
		`{"a":"// no comment","b":[1,2]}`, "//<![CDATA[\n{}\n//]]>", `{"a":"\\"}`, `{"a":"it\'s"}`, "/*", "\"\\", `[1,/*x*/]`, "{}<!-- a -->{}",
		"-0.5e+3", "01", "-", "1.", "[1 2]", `{"a" :1 , "b":-}`, "[]]", "tru", "nullnull", "\"\x1f\"", `"\u12g4"`, " \u00a0", `{1:2}`, `{"a":}`, "[,]",
		`{"a":1.5,"b":[{}]}`, `{"a":"\u00e9\ud83d\ude00\"\\\/"}`, `{"b":null,"a":["x",{"c":[["y"]]}]}`, `{"\u0061":"x"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ReadScripts([]string{s})
		Member(s, "a")
		if !json.Valid([]byte(s)) {
			return
		}
		r := jsonReader{s: s, graph: &graph{}}
		if r.value(&item{}, "x", 0); r.bad || strings.Trim(s[r.i:], " \n\r\t") != "" {
			t.Fatalf("%q is valid, and was read up to %d", yp.Clip(s, 1000), r.i)
		}
		var want any
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(s, "@") || strings.Contains(s, "type") || strings.Contains(s, ":") && strings.Contains(s, "schema") || strings.Contains(s, `\u`) || len(s) > maxDepth || !utf8.ValidString(s) {
			return
		}
		g := &graph{}
		g.addScript(s)
		var texts []string
		for _, p := range g.top.props {
			texts = appendItem(texts, p.item)
		}
		for _, text := range appendAny(nil, want) { // of a name that stands twice encoding/json keeps the last value
			if !slices.Contains(texts, text) {
				t.Errorf("%q: got %q without %q", s, texts, text)
			}
		}
		object, ok := want.(map[string]any)
		if !ok || strings.Count(s, `"a"`) != 1 {
			return
		}
		if text, ok := object["a"].(string); ok && Member(s, "a") != text {
			t.Errorf("%q: member %q, want %q", s, Member(s, "a"), text)
		}
	})
}

// appendItem appends the texts in an item.
func appendItem(to []string, it *item) []string {
	for _, p := range it.props {
		if p.item != nil {
			to = appendItem(to, p.item)
		} else {
			to = append(to, p.text)
		}
	}
	return to
}

// appendAny appends the texts and numbers in the objects of a value.
func appendAny(to []string, v any) []string {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if _, nested := e.(string); !nested {
				to = appendAny(to, e)
			}
		}
	case map[string]any:
		for name, e := range v {
			if strings.TrimSpace(name) != "" {
				to = appendTexts(to, e)
			}
		}
	}
	return to
}

func appendTexts(to []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(to, v)
	case json.Number:
		return append(to, v.String())
	case []any:
		for _, e := range v {
			to = appendTexts(to, e)
		}
	case map[string]any:
		return appendAny(to, v)
	}
	return to
}

func TestMember(t *testing.T) {
	for text, want := range map[string]string{
		`{"x":{"a":1},"a":"b"}`: "b", `{"a":1.5}`: "1.5", `{"a":[["x","y"]]}`: "x", `{"a":"\u00e9\""}`: `é"`, ` { "a" : -1 } `: "-1",
		`{"a":{"a":"b"}}`: "", `{"a":true}`: "", `{"a":null}`: "", `["a","b"]`: "", `{"b":"a"}`: "", "": "", `{"a"`: "", `{"a":`: "", `{"b":[{`: "",
	} {
		if got := Member(text, "a"); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
