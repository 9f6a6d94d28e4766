package fetch

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"

	"golang.org/x/net/publicsuffix"
)

// maxCookies is how many cookies go with a request: browsers keep fewer than
// 200 of a site, and a site that sets a new one with every page would make the
// header grow without end.
const maxCookies = 100

func newJar() http.CookieJar {
	jar, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // never an error
	return jar
}

// cookies are those that a request of the job for u carries.
func (j *job) cookies(u *url.URL) []*http.Cookie {
	if j.jar == nil {
		return nil
	}
	all := j.jar.Cookies(u)
	return all[:min(len(all), maxCookies)]
}

// remember keeps the cookies of an answer, unless it is the proxy's own. Where the
// session keeps none, those of a redirect last as long as the job: the page that they
// lead to can't be had without them.
func (j *job) remember(u *url.URL, answer *http.Response, redirects bool) {
	if _, its := j.session.answered(u, &Response{Status: answer.StatusCode, phrase: answer.Status, Header: answer.Header}); its {
		return
	}
	cookies := answer.Cookies()
	if len(cookies) == 0 {
		return
	}
	if j.jar == nil {
		if !redirects {
			return
		}
		j.jar = newJar()
	}
	j.jar.SetCookies(u, cookies)
}

// leadsOn reports whether an address that redirects to itself may answer otherwise when
// it is asked again: the cookies that go with the request now are not those that were
// sent. A name counts once in a job, so that a cookie with another value at each
// answer makes no loop.
func (j *job) leadsOn(sent, now []*http.Cookie) bool {
	both := slices.Concat(sent, now)
	times := map[string]int{}
	for _, c := range both {
		times[c.Name+"="+c.Value]++
	}
	leads := false
	for _, c := range both {
		if times[c.Name+"="+c.Value] == 1 && !slices.Contains(j.led, c.Name) {
			j.led, leads = append(j.led, c.Name), true
		}
	}
	return leads
}
