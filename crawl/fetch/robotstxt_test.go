package fetch

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

func TestRobotsRules(t *testing.T) {
	for _, tt := range []struct {
		name, robots, path string
		want               bool
	}{
		{"empty file", "", "/a", true},
		{"everybody out", "User-agent: *\nDisallow: /", "/a", false},
		{"robots.txt itself", "User-agent: *\nDisallow: /", "/robots.txt", true},
		{"empty Disallow", "User-agent: *\nDisallow:", "/a", true},
		{"prefix", "User-agent: *\nDisallow: /fish", "/fish/salmon.html", false},
		{"prefix from the start only", "User-agent: *\nDisallow: /fish", "/a/fish", true},
		{"query counts", "User-agent: *\nDisallow: /s?q=", "/s?q=a", false},
		{"longest match, Allow", "User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", true},
		{"longest match, Disallow", "User-agent: *\nAllow: /a\nDisallow: /a/b", "/a/b/c", false},
		{"order does not count", "User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/b", true},
		{"tie goes to Allow", "User-agent: *\nDisallow: /page\nAllow: /page", "/page", true},
		{"star is longer", "User-agent: *\nAllow: /page\nDisallow: /*.htm", "/page.htm", false},
		{"only the root", "User-agent: *\nAllow: /$\nDisallow: /", "/", true},
		{"end anchor", "User-agent: *\nDisallow: /*.php$", "/a.php", false},
		{"end anchor, more follows", "User-agent: *\nDisallow: /*.php$", "/a.php?x", true},
		{"end anchor may not overlap", "User-agent: *\nDisallow: /ab*b$", "/ab", true},
		{"star in the middle", "User-agent: *\nDisallow: /a*z", "/abcz/d", false},
		{"several stars", "User-agent: *\nDisallow: /a*b**c$", "/a-b-b-c-c", false},
		{"a dollar in the middle is itself", "User-agent: *\nDisallow: /a$b", "/a$bc", false},
		{"encoded star is no wildcard", "User-agent: *\nDisallow: /a%2Ab", "/axb", true},
		{"encoded star is a star", "User-agent: *\nDisallow: /a%2Ab", "/a*b", false},
		{"case of the escapes", "User-agent: *\nDisallow: /a%3cd", "/a%3Cd", false},
		{"needlessly encoded in the rule", "User-agent: *\nDisallow: /%62%61%7A", "/baz", false},
		{"needlessly encoded in the URL", "User-agent: *\nDisallow: /baz", "/%62a%7a", false},
		{"encoded slash is no slash", "User-agent: *\nDisallow: /a/b", "/a%2Fb", true},
		{"encoded slash is itself", "User-agent: *\nDisallow: /a%2fb", "/a%2Fb", false},
		{"UTF-8 in the rule", "User-agent: *\nDisallow: /caf\u00e9", "/caf%C3%A9", false},
		{"malformed escape", "User-agent: *\nDisallow: /a%zz", "/a", true},
		{"our group instead of everybody's", "User-agent: *\nDisallow: /\nUser-agent: ypcrawl\nDisallow: /b", "/a", true},
		{"our group though empty", "User-agent: *\nDisallow: /\n\nUser-agent: ypcrawl", "/a", true},
		{"groups of ours are merged", "User-agent: ypcrawl\nDisallow: /a\nUser-agent: x\nDisallow: /c\nUser-agent: ypcrawl\nDisallow: /b", "/a", false},
		{"several agents in a group", "User-agent: x\nUser-agent: ypcrawl\nDisallow: /a", "/a", false},
		{"a blank line ends no group", "User-agent: *\nDisallow: /b\n\nDisallow: /a", "/a", false},
		{"agent in capitals", "USER-AGENT: YPCRAWL\nDISALLOW: /a", "/a", false},
		{"agent with a version", "User-agent: ypcrawl/2.0\nDisallow: /a", "/a", false},
		{"a longer agent is not us", "User-agent: ypcrawler\nDisallow: /a", "/a", true},
		{"a shorter agent is not us", "User-agent: yp\nDisallow: /a", "/a", true},
		{"star glued to more is nobody", "User-agent: *bot\nDisallow: /a", "/a", true},
		{"rules before any agent", "Disallow: /a\nUser-agent: *\nDisallow: /b", "/a", true},
		{"comments", "# hi\nUser-agent: * # all\nDisallow: /a # not\n", "/a", false},
		{"byte order mark", "\xef\xbb\xbfUser-agent: *\nDisallow: /a", "/a", false},
		{"CRLF", "User-agent: *\r\nDisallow: /a\r\n", "/a", false},
		{"space everywhere", " \tUser-agent \t:  * \n  Disallow:\t /a \t", "/a", false},
		{"bad lines", "hello\n:\n::\nUser-agent: *\n<html>\nDisallow /b\nDisallow: /a\n\x00\xff", "/a", false},
		{"Sitemap interferes with nothing", "User-agent: x\nSitemap: https://a.com/s.xml\nUser-agent: ypcrawl\nDisallow: /a", "/a", false},
		{"Crawl-delay interferes with nothing", "User-agent: *\nCrawl-delay: 5\nDisallow: /a", "/a", false},
		{"a page of HTML", "<!doctype html><html><body>Not found: sorry</body></html>", "/a", true},
		{"just within 500 KiB", pad("User-agent: *\n", "\nDisallow: /a", robotsMax), "/a", false},
		{"at 500 KiB, and more follows", pad("User-agent: *\n", "\nDisallow: /a", robotsMax) + "\nAllow: /", "/a", false},
		{"cut at 500 KiB within the path", pad("User-agent: *\n", "\nDisallow: /", robotsMax) + "private\n", "/a", true},
		{"cut at 500 KiB within the path, to the last byte", pad("User-agent: *\n", "\nDisallow: /a", robotsMax) + "/", "/a", true},
		{"cut at 500 KiB before CRLF", pad("User-agent: *\n", "\nDisallow: /a", robotsMax) + "\r\n", "/a", false},
		{"cut at 500 KiB between CR and LF", pad("User-agent: *\n", "\nDisallow: /a\r", robotsMax) + "\n", "/a", false},
		{"cut at 500 KiB within an Allow", "User-agent: *\nDisallow: /private\n" + pad("", "\nAllow: /", robotsMax-33) + "private/b\n", "/private/a", false},
		{"cut at 500 KiB within a name", pad("User-agent: *\nDisallow: /a\n", "\nUser-agent: ypcrawl", robotsMax) + "er\n", "/a", false},
		{"one line of more than 500 KiB", "Disallow: /" + strings.Repeat("a", robotsMax), "/a", true},
		{"beyond 500 KiB", pad("User-agent: *\n", "\nDisallow: /a", robotsMax+len("Disallow: /a")), "/a", true},
	} {
		u, err := url.Parse("https://acme.com" + tt.path)
		noErr(t, err)
		storetest.Equal(t, parseRobots([]byte(tt.robots), "ypcrawl").forbids(u) == nil, tt.want, "allowed", tt.name, tt.path)
	}
}

// pad puts comment lines between head and tail, so that the whole is size long.
func pad(head, tail string, size int) string {
	return head + strings.Repeat("#", size-len(head)-len(tail)) + tail
}

func TestCrawlDelay(t *testing.T) {
	for _, tt := range []struct {
		name, robots string
		want         time.Duration
	}{
		{"none", "User-agent: *\nDisallow: /a", 0},
		{"seconds", "User-agent: *\nCrawl-delay: 10", 10 * time.Second},
		{"a fraction", "User-agent: *\ncrawl-delay: 0.5 # s", 500 * time.Millisecond},
		{"ours, not everybody's", "User-agent: *\nCrawl-delay: 10\nDisallow: /x\nUser-agent: ypcrawl\nCrawl-delay: 3", 3 * time.Second},
		{"everybody's is not ours", "User-agent: *\nCrawl-delay: 10\nDisallow: /x\nUser-agent: ypcrawl\nDisallow: /a", 0},
		{"the largest", "User-agent: *\nCrawl-delay: 1\nCrawl-delay: 7\nCrawl-delay: 2", 7 * time.Second},
		{"absurd", "User-agent: *\nCrawl-delay: 1e300", time.Hour},
		{"infinite", "User-agent: *\nCrawl-delay: Inf", time.Hour},
		{"no number", "User-agent: *\nCrawl-delay: NaN", 0},
		{"negative", "User-agent: *\nCrawl-delay: -5", 0},
		{"a word", "User-agent: *\nCrawl-delay: slow", 0},
		{"before any agent", "Crawl-delay: 5\nUser-agent: *\nDisallow: /a", 0},
	} {
		storetest.Equal(t, parseRobots([]byte(tt.robots), "ypcrawl").crawlDelay, tt.want, tt.name)
	}
}

func TestProductToken(t *testing.T) {
	for ua, want := range map[string]string{
		"ypcrawl": "ypcrawl", "ypcrawl/1.0 (+https://a.com)": "ypcrawl", "my_bot-x 2": "my_bot-x", "": "", "2bot": "",
	} {
		storetest.Equal(t, productToken(ua), want, ua)
	}
}

var lineEnd = regexp.MustCompile(`\r\n|\r|\n`)

// checkRule tests that a rule is where it says it is: on that line, below the name that it is for.
func checkRule(t *testing.T, robots string, r *rule) {
	t.Helper()
	all := lineEnd.Split(robots, -1)
	if !strings.Contains(all[r.line-1], r.text) || !strings.Contains(all[r.agents.line-1], r.agents.name) || r.agents.line >= r.line {
		t.Errorf("the rule %q is not on its lines of %q", r, robots)
	}
	if strings.ContainsAny(r.String(), "\r\n\x1b") {
		t.Errorf("not one safe line: %q", r)
	}
}

// What forbids a page is named with its line.
func TestRuleThatForbids(t *testing.T) {
	for _, tt := range []struct{ name, robots, want string }{
		{"everybody", "User-agent: *\nDisallow: /", "line 2: Disallow: / (User-agent: * on line 1)"},
		{"a group of two names", "User-agent: *\nCrawl-delay: 1\n\nUser-agent: BadBot\nDisallow: /\n", "line 5: Disallow: / (User-agent: * on line 1)"},
		{"our own group", "User-agent: *\nDisallow: /b\n\nUser-agent: YPcrawl/2.0\nDisallow: /a # why", "line 5: Disallow: /a (User-agent: YPcrawl/2.0 on line 4)"},
		{"groups that are one", "User-agent: *\nDisallow: /\n\nUser-agent: *\nAllow: /b\nDisallow: /a", "line 6: Disallow: /a (User-agent: * on line 4)"},
		{"the longest", "User-agent: *\nDisallow: /\nDisallow: /a\nDisallow: /*", "line 3: Disallow: /a (User-agent: * on line 1)"},
		{"the first of two", "User-agent: *\nDisallow: /a\nDisallow: /%61", "line 2: Disallow: /a (User-agent: * on line 1)"},
		{"CRLF", "# hi\r\n\r\nUser-agent: *\r\nDisallow: /\r\n", "line 4: Disallow: / (User-agent: * on line 3)"},
		{"CR", "# hi\r\rUser-agent: *\rDisallow: /", "line 4: Disallow: / (User-agent: * on line 3)"},
		{"byte order mark", "\xef\xbb\xbfUser-agent: *\n  DISALLOW :\t/", "line 2: DISALLOW :\\t/ (User-agent: * on line 1)"},
		{"a long one", "User-agent: *\nDisallow: /" + strings.Repeat("*", 5000), "line 2: Disallow: /" + strings.Repeat("*", 69) + " (User-agent: * on line 1)"},
	} {
		u, err := url.Parse("https://acme.com/a")
		noErr(t, err)
		if r := parseRobots([]byte(tt.robots), "ypcrawl").forbids(u); r == nil || r.String() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, r, tt.want)
		}
	}
}

// Names that come again and again are one group, and cost no more than their lines.
func TestRobotsOfManyNames(t *testing.T) {
	robots := strings.Repeat("User-agent: *\n", 18_000) + strings.Repeat("Allow: /\n", 25_000)
	storetest.Equal(t, len(parseRobots([]byte(robots), "ypcrawl").list), 25_000, "rules")
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$\nAllow: /%61%zz\nCrawl-delay: 1", "/a/b?c=%2F")
	f.Add("User-agent: ypcrawl\x1b\r\rUser-agent: *\r\nDisallow: /\u2028*\nDisallow: /a", "a")
	f.Add("\xef\xbb\xbfuser-agent:ypcrawl\r\ndisallow:/*/*/**$", "//")
	f.Fuzz(func(t *testing.T, robots, path string) {
		r := parseRobots([]byte(robots), "ypcrawl")
		if r.crawlDelay < 0 || r.crawlDelay > maxCrawlDelay {
			t.Errorf("Crawl-delay %s", r.crawlDelay)
		}
		u := &url.URL{Scheme: "https", Host: "acme.com", Path: "/" + path}
		if by := r.forbids(u); by != nil {
			checkRule(t, robots, by)
		}
		if n := normalPath(path); normalPath(n) != n {
			t.Errorf("normal form of %q is not stable: %q, %q", path, n, normalPath(n))
		}
		// A rule that is the path itself, encoded, always matches it.
		own := parseRobots([]byte("User-agent: *\nDisallow: "+u.EscapedPath()+"$"), "ypcrawl")
		if own.forbids(u) == nil && u.EscapedPath() != "/robots.txt" {
			t.Errorf("its own rule does not match %q", u.EscapedPath())
		}
	})
}
