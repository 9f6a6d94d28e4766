package web

import (
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// known has the file know listings of these ids; each is named by its place: "n0 of all".
func (b *served) known(t *testing.T, ids ...string) {
	t.Helper()
	storetest.NoError(t, b.DB().Write(t.Context(), func(tx *store.Tx) error {
		for i, id := range ids {
			if err := tx.Run(`INSERT INTO listings (source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at)
				VALUES (1, ?1, 1, ?2, 'TX', 0, ?3, ?3)`, id, fmt.Sprintf("n%d of all", i), storetest.Ago(time.Hour)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// oddIDs are ids that addresses could take for something else.
func oddIDs() []string {
	ids := []string{
		"123/acme", "bäckerei-müller", ".", "..", "...", "../..", "%2f", "%2F", "%", "%%", "%2e%2e", "?", "a?b=c", "#", "a#b", " ", "a b", "a+b", "a&b;c", "a/", "/", "//", "a//b", "/a", `\`, `..\x`,
		"a;b", "a:b", ":", "demo/1", "東京", "'", `"`, "<b>", "a\u202eb", "a\tb", "~", strings.Repeat("x", 201), strings.Repeat("ü/", 200), "id", "?id=x", "a,b", "*", "{id}", "a=b", "http://x/y", "@", "x.", ".x", "a/../b",
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same ones each time
	letters := []rune(`ab./\%?#&;:+ =~ü東` + "\u202e\x01")
	for range 40 {
		var id strings.Builder
		for range 1 + r.IntN(8) {
			id.WriteRune(letters[r.IntN(len(letters))])
		}
		ids = append(ids, id.String())
	}
	return ids
}

// distinct leaves out what is there already.
func distinct(all []string) (ids []string) {
	seen := map[string]bool{"a": true, "b": true} // which the file has
	for _, id := range all {
		if !seen[id] {
			ids = append(ids, id)
		}
		seen[id] = true
	}
	return ids
}

// TestListingPath: whatever an id is, its address leads to its page, and from there to the top: asked directly, through a proxy that
// shows the page below a path, and through one that writes paths anew, as nginx does, so that %2F is a slash.
func TestListingPath(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	ids := distinct(oddIDs())
	b.known(t, ids...)
	to, err := url.Parse(b.url)
	storetest.NoError(t, err)
	below := httptest.NewServer(http.StripPrefix("/our/yp", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}))
	defer below.Close()
	anew := httptest.NewServer(http.StripPrefix("/our/yp", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.URL.RawPath = ""
	}}))
	defer anew.Close()
	for name, top := range map[string]string{"directly": b.url + "/", "below a path": below.URL + "/our/yp/", "written anew": anew.URL + "/our/yp/"} {
		for i, id := range ids {
			address := top + listingPath("demo", id)[1:]
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
			storetest.NoError(t, err)
			answer, err := http.DefaultClient.Do(r)
			storetest.NoError(t, err)
			text, err := io.ReadAll(answer.Body)
			storetest.NoError(t, err)
			_ = answer.Body.Close()
			if want := fmt.Sprintf("<h2>n%d of all <", i); answer.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
				t.Errorf("%s, %.40q: %s answers %d, which is not its page", name, id, address, answer.StatusCode)
				continue
			}
			for _, m := range addresses.FindAllStringSubmatch(string(text), -1) {
				to, err := answer.Request.URL.Parse(html.UnescapeString(m[2]))
				storetest.NoError(t, err)
				if to.Scheme != "data" && !strings.HasPrefix(to.String(), top) {
					t.Errorf("%s, %.40q: a link leads to %s", name, id, to)
				}
			}
			if !strings.Contains(string(text), `href="`+strings.Repeat("../", strings.Count(answer.Request.URL.EscapedPath()[len(topPath(t, top)):], "/"))+`static/page.css"`) {
				t.Errorf("%s, %.40q: the style is not found from %s", name, id, address)
			}
		}
	}
}

func topPath(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	storetest.NoError(t, err)
	return u.Path
}

// TestRowsLeadThere: the rows of lists lead to the pages of what they are about.
func TestRowsLeadThere(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.troubled(t)
	b.known(t, "123/acme", "..", "x y")
	storetest.Execute(t, b.DB(), `INSERT INTO staged_listings (source_id, listing_id, target_id, page, reasons, listing, first_seen_at, last_seen_at)
		VALUES (1, 'no/name', 61, 2, '["no phone"]', '{"id":"no/name","name":"Nobody"}', 'x', '`+storetest.Ago(time.Hour)+`')`)
	for list, links := range map[string][]string{
		"/listings":  {"/listings/demo/a", "/listings/demo?id=123%2Facme", "/listings/demo?id=..", "/listings/demo/x%20y"},
		"/changes":   {"/listings/demo/a", "/listings/demo/c"},
		"/rejected":  {"/listings/demo?id=no%2Fname"},
		"/companies": {"/companies/1"},
	} {
		text := b.answers(t, list, page{http.StatusOK, nil})
		for _, link := range links {
			if !strings.Contains(text, `href="`+link+`"`) {
				t.Errorf("%s has no link to %s", list, link)
			}
			b.answers(t, link, page{http.StatusOK, nil})
		}
	}
	answer, _ := b.ask(t, http.MethodGet, "/listings/demo/123/acme", nil, "")
	storetest.Equal(t, answer.StatusCode, http.StatusTemporaryRedirect, "status of an id with a slash")
	storetest.Equal(t, answer.Header.Get("Location"), "../../../listings/demo?id=123%2Facme", "and where it leads")
}

var outLinks = regexp.MustCompile(`<a class="out" rel="noreferrer noopener" href="([^"]*)">`)

// TestListingPage: all that is known of a listing, each field with the page that it is from, and no link but those of the web, of
// mail and of phones.
func TestListingPage(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{Command: "ypcrawl --db t.db"})
	b.troubled(t)
	own := storetest.Ago(50 * time.Hour)
	storetest.Execute(t, b.DB(), fmt.Sprintf(`UPDATE listings SET phone = '(512) 555-0100', phone_e164 = '+15125550100', email = 'mail@acme.example', website = 'https://acme.example/?a=1&b=2', website_url = 'x',
			profile_url = 'javascript:alert(1)', image_url = 'https://bank.example@evil.example/', street = '1 High St', city = 'Austin', state = 'TX', hours = '["Mo 09:00-17:00"]', rating = 4.5, lat = 30.25, lon = -97.75,
			cards = %d, cards_before = %d, own_page_at = '%s', dropped_at = '%s' WHERE listing_id = 'a'`,
		yp.GroupRating.Bit(), yp.GroupPhone.Bit(), own, storetest.Ago(3*time.Hour)),
		`INSERT INTO listing_texts (listing, social) SELECT id, '["https://social.example/acme","data:text/html,x"]' FROM listings WHERE listing_id = 'a'`)
	text := b.answers(t, "/listings/demo/a", page{http.StatusOK, []string{
		"A &lt;script&gt;alert(1)&lt;/script&gt;", `\u202e`, `<span class="dim plain">demo/a</span>`, "<strong>Closed</strong>: its site no longer shows it. Noticed 3h00m ago",
		`<dt>email</dt><dd><a class="out" rel="noreferrer noopener" href="mailto:mail@acme.example">mail@acme.example</a></dd><dd class="from">own page, <time datetime="` + own + `" title="`,
		`<dt>phone</dt><dd><a class="out" rel="noreferrer noopener" href="tel:&#43;15125550100">(512) 555-0100</a></dd><dd class="from">results page, `,
		`href="https://acme.example/?a=1&amp;b=2"`, "<dt>rating</dt><dd>4.5</dd><dd class=\"from\">results page, ",
		`<dt>profile url</dt><dd>javascript:alert(1)</dd>`, `<dt>image url</dt><dd>https://bank.example@evil.example/</dd>`,
		`href="https://social.example/acme"`, "<br>data:text/html,x</dd>", "<dt>hours</dt><dd>Mo 09:00-17:00</dd>", `<a href="/companies/1">1</a>`,
		"<h2>Searches that showed it</h2>", `<a href="/targets/`, "<h2>History, newest first</h2>", `at <span class="zone">UTC</span></th>`, `<td class="whole"><time datetime="`, `<dt>first seen <span class="zone">UTC</span></dt><dd><time datetime="`, "<td>restored</td>", "<td>new</td>", `aria-current="page">Listings`,
	}})
	for _, m := range outLinks.FindAllStringSubmatch(text, -1) {
		if u, err := url.Parse(m[1]); err != nil || !strings.Contains(" http https mailto tel ", " "+u.Scheme+" ") {
			t.Errorf("a link leads to %s", m[1])
		}
	}
	storetest.Execute(t, b.DB(), `INSERT INTO staged_listings (source_id, listing_id, target_id, page, reasons, listing, first_seen_at, last_seen_at)
		VALUES (1, 'r', 61, 2, '["no <b>phone</b>"]', '{"id":"r","name":"Nobody <b>","email":"a@b.example","website":"vbscript:x"}', 'x', '`+storetest.Ago(time.Hour)+`')`,
		`UPDATE companies SET website = 'https://acme.example', phone_e164 = '+15125550100' WHERE id = 1`)
	for path, c := range map[string]page{
		"/listings/demo/r":     {http.StatusOK, []string{"Nobody &lt;b&gt;", "<strong>Rejected</strong>: what was last seen breaks a rule of its source: no &lt;b&gt;phone&lt;/b&gt;", `href="mailto:a@b.example"`, "<dd>vbscript:x</dd>"}},
		"/listings/demo/c":     {http.StatusOK, []string{"demo/c", "rejected"}}, // its history alone is left
		"/listings/demo/none":  {http.StatusNotFound, []string{"There is no listing &#34;none&#34; of the source &#34;demo&#34;.", "ypcrawl --db t.db listings list --search WORD"}},
		"/listings/none/a":     {http.StatusNotFound, []string{"There is no listing"}},
		"/listings/demo":       {http.StatusNotFound, []string{"There is no listing &#34;&#34;"}},
		"/listings/demo/":      {http.StatusNotFound, []string{"There is no page"}},
		"/listings/demo/a?x=y": {http.StatusOK, []string{"demo/a<"}},
		"/companies/1":         {http.StatusOK, []string{"company 1", `href="https://acme.example"`, `href="tel:&#43;15125550100"`, "<h2>1 listing, 1 closed</h2>", `<a href="/listings/demo/a">demo/a</a>`}},
		"/companies/99":        {http.StatusNotFound, []string{"There is no company &#34;99&#34;", "ypcrawl --db t.db companies list"}},
		"/companies/x":         {http.StatusNotFound, []string{"There is no company"}},
	} {
		b.answers(t, path, c)
	}
}

// TestListingScope: a page for some states, or one source, shows no listing and no company of another, and nothing leads there.
func TestListingScope(t *testing.T) {
	t.Parallel()
	b := serve(t, Config{})
	b.known(t, "tx", "ca", "other")
	storetest.Execute(t, b.DB(), `UPDATE listings SET state = 'CA' WHERE listing_id IN ('ca', 'b')`, `UPDATE companies SET state = 'CA' WHERE id = 2`,
		`INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (2, 'two', 'http://two', 'x', 'x')`,
		`UPDATE listings SET source_id = 2 WHERE listing_id = 'other'`)
	for _, c := range []struct {
		scope store.Scope
		wants map[string]int
	}{
		{store.Scope{}, map[string]int{"/listings/demo/tx": 200, "/listings/demo/ca": 200, "/companies/2": 200}},
		{store.Scope{States: []string{"TX"}}, map[string]int{"/listings/demo/tx": 200, "/listings/demo/ca": 404, "/companies/1": 200, "/companies/2": 404, "/targets/1": 404, "/targets/3": 200}},
		{store.Scope{SourceID: 1}, map[string]int{"/listings/demo/tx": 200, "/listings/demo/ca": 200, "/companies/1": 200, "/companies/2": 200}},
		{store.Scope{SourceID: 2}, map[string]int{"/listings/demo/tx": 404, "/listings/demo/ca": 404, "/companies/1": 200, "/companies/2": 404}},
	} {
		cfg := b.cfg
		cfg.Scope, cfg.About = c.scope, "the scope"
		list := httptest.NewRecorder()
		New(cfg).mux.ServeHTTP(list, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/companies", nil))
		for _, m := range addresses.FindAllStringSubmatch(list.Body.String(), -1) {
			if want, known := c.wants["/"+strings.TrimLeft(m[2], "./")]; known && want != http.StatusOK {
				t.Errorf("%+v: a row of /companies leads to %s", c.scope, m[2])
			}
		}
		queue := httptest.NewRecorder()
		New(cfg).mux.ServeHTTP(queue, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/queue", nil))
		for _, suggested := range []struct {
			value string
			want  bool
		}{{"CA", len(c.scope.States) == 0 && c.scope.SourceID != 2}, {"TX", c.scope.SourceID != 2}, {"demo", c.scope.SourceID != 2}, {"two", c.scope.SourceID != 1}} {
			if strings.Contains(queue.Body.String(), `<option value="`+suggested.value+`">`) != suggested.want {
				t.Errorf("%+v: %s is suggested: %v", c.scope, suggested.value, !suggested.want)
			}
		}
		for path, want := range c.wants {
			answer := httptest.NewRecorder()
			New(cfg).mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if answer.Code != want {
				t.Errorf("%+v: %s answers %d, want %d", c.scope, path, answer.Code, want)
			}
			for link, shown := range map[string]bool{"/demo/tx": c.scope.SourceID != 2, "/demo/ca": len(c.scope.States) == 0 && c.scope.SourceID != 2, "/two/other": c.scope.SourceID != 1} {
				if path == "/companies/1" && strings.Contains(answer.Body.String(), "listings"+link) != shown {
					t.Errorf("%+v: %s has a link to %s: %v", c.scope, path, link, !shown)
				}
			}
			if want == http.StatusNotFound && !strings.Contains(answer.Body.String(), "It was started for the scope alone.") {
				t.Errorf("%+v: %s does not say why:\n%s", c.scope, path, answer.Body)
			}
		}
	}
}

// TestOutward: what a site wrote leads to the web, to mail or to a phone, or nowhere.
func TestOutward(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ column, text, want string }{
		{"email", "a@b.example", "mailto:a@b.example"},
		{"email", "a@b.example?bcc=all@c.example", ""},
		{"email", "a?cc=x@b.example", "mailto:a%3Fcc=x@b.example"},
		{"email", "a", ""},
		{"email", "a b@c.example", ""},
		{"email", "a@b.example\r\nBcc: x", ""},
		{"phone", "+15125550100", "tel:+15125550100"},
		{"phone", "5125550100", ""},
		{"phone", "+1;ext=javascript:", ""},
		{"phone", "<nil>", ""},
		{"website", "HTTPS://A.example/x", "https://A.example/x"},
		{"website", "http://a.example/\"><script>", "http://a.example/%22%3E%3Cscript%3E"},
		{"website", "javascript:alert(1)", ""},
		{"website", "java\tscript:alert(1)", ""},
		{"website", "//evil.example", ""},
		{"website", "/etc/passwd", ""},
		{"website", "https:evil.example", ""},
		{"website", "ftp://a.example", ""},
		{"website", "https://bank.example@evil.example", ""},
		{"website", "https://a.example/\u202e", ""},
		{"profile_url", "data:text/html,x", ""},
		{"name", "https://a.example", ""},
		{"about", "mailto:a@b.example", ""},
	} {
		if got := string(outward(c.column, c.text)); got != c.want {
			t.Errorf("%s %q leads to %q, want %q", c.column, c.text, got, c.want)
		}
	}
}
