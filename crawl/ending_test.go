package crawl

import (
	"strings"
	"testing"

	"ypcrawl/crawl/site"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestJudgeEnd has a row for every rule of docs/decisions/0058.
func TestJudgeEnd(t *testing.T) {
	t.Parallel()
	full := passShown{NextPages: 5, Fewest: 30}                 // of a source that shows 30 a page
	deeper := passShown{NextPages: 5, Fewest: 30, Deeper: true} // another target went further
	whole := site.Paging{There: true, Whole: true}
	says := func(number, cards int, change ...func(*pageSays)) pageSays {
		p := pageSays{number: number, cards: cards}
		for _, c := range change {
			c(&p)
		}
		return p
	}
	total := func(n int) func(*pageSays) { return func(p *pageSays) { p.total = n } }
	asked := func(p *pageSays) { p.asked = true }
	pages := func(p *pageSays) { p.paging = whole }
	saw := func(organic int, change ...func(*crawlSeen)) crawlSeen {
		c := crawlSeen{all: organic, organic: organic, more: func(bool) (bool, error) { return false, nil }}
		for _, f := range change {
			f(&c)
		}
		return c
	}
	ads := func(n int) func(*crawlSeen) { return func(c *crawlSeen) { c.all += n } }
	wentFurther := func(c *crawlSeen) { c.more = func(bool) (bool, error) { return true, nil } }

	for name, c := range map[string]struct {
		page pageSays
		seen crawlSeen
		pass passShown
		want string // the step, and of an end how
	}{
		"a next link":                                  {says(1, 30, func(p *pageSays) { p.next = true }), saw(30), full, "on"},
		"a next link at the limit of pages":            {says(3, 30, func(p *pageSays) { p.next, p.limit = true, true }, total(93)), saw(90), full, "max_pages"},
		"the total is reached at the limit":            {says(3, 30, func(p *pageSays) { p.limit = true }, total(90)), saw(90), full, "total"},
		"no word at all":                               {says(1, 30), saw(30), passShown{}, "no_word"},
		"one full page of a source that nobody knows":  {says(1, 30, pages), saw(30), passShown{}, "no_word"},
		"a small town with four listings, no total":    {says(1, 4), saw(4), passShown{}, "no_word"},
		"a small town beside cities":                   {says(1, 4), saw(4), full, "short_page"},
		"a small town beside two pages with a link":    {says(1, 4), saw(4), passShown{NextPages: 2, Fewest: 30}, "no_word"},
		"a small town with its total":                  {says(1, 4, total(4)), saw(4), passShown{}, "total"},
		"as short as the shortest with a link":         {says(2, 30), saw(60), full, "no_word"},
		"33 on page 1, 30 on the others":               {says(3, 30), saw(93), passShown{NextPages: 2, Fewest: 30}, "no_word"},
		"a relaunch from 50 to 30 a page":              {says(2, 30), saw(60), passShown{NextPages: 9, Fewest: 30}, "no_word"},
		"an exact multiple with a pagination":          {says(2, 30, pages), saw(60), deeper, "pagination"},
		"an exact multiple that may be a cap":          {says(10, 30, pages), saw(300), full, "no_word"},
		"a pagination on a short page":                 {says(2, 12, pages), saw(42), full, "pagination"},
		"a pagination with a page that is named":       {says(2, 12, func(p *pageSays) { p.paging = site.Paging{There: true, Later: true} }, asked), saw(42), full, "later_page"},
		"a pagination with a script, once":             {says(10, 30, func(p *pageSays) { p.paging = site.Paging{There: true, Unfollowed: "a script"} }), saw(300), full, "again"},
		"a pagination with a script, twice":            {says(10, 30, func(p *pageSays) { p.paging = site.Paging{There: true, Unfollowed: "a script"} }, asked), saw(300), full, "unfollowed"},
		"a script where all was seen":                  {says(1, 8, func(p *pageSays) { p.paging = site.Paging{There: true, Unfollowed: "a script"} }, total(8)), saw(8), full, "total"},
		"a next link to another site":                  {says(1, 30, func(p *pageSays) { p.nextHost = "other.example" }, asked), saw(30), full, "unfollowed"},
		"an empty page behind the last":                {says(3, 0, func(p *pageSays) { p.empty = true }), saw(60), full, "said"},
		"an empty page where more was counted":         {says(3, 0, func(p *pageSays) { p.empty = true }, total(600), asked), saw(60), full, "too_few"},
		"a mark that the definition names":             {says(2, 30, func(p *pageSays) { p.last = "the title" }), saw(60), full, "said"},
		"a range that ends at the total":               {says(2, 28, func(p *pageSays) { p.rangeEnd = 58 }, total(58)), saw(56), full, "said"},
		"a range that ends before the total":           {says(36, 30, func(p *pageSays) { p.rangeEnd = 1080 }, total(1108), asked, pages), saw(1080), deeper, "later_page"},
		"of 1,108, a lost link on page 36, once":       {says(36, 30, total(1108)), saw(1080), full, "again"},
		"of 1,108, a lost link on page 36, twice":      {says(36, 30, total(1108), asked), saw(1080), full, "no_word"},
		"a total that counts ads":                      {says(1, 28, total(30), pages), saw(28, ads(2)), full, "pagination"},
		"a total that counts ads, and no other word":   {says(1, 28, total(30), asked), saw(28, ads(2)), passShown{}, "no_word"},
		"a list shuffled at each request":              {says(4, 30, total(120), pages, asked), saw(80), deeper, "too_few"},
		"94 of 100":                                    {says(4, 4, total(100), pages), saw(94), full, "too_few"},
		"95 of 100":                                    {says(4, 5, total(100), pages), saw(95), full, "pagination"},
		"a card that could not be read":                {says(1, 8, total(8)), saw(8, func(c *crawlSeen) { c.bad = 1 }), full, "unreadable"},
		"cards beyond the first thousand":              {says(1, 1000, pages, func(p *pageSays) { p.leftOut = 3 }), saw(1000), deeper, "unreadable"},
		"more than 5 % came again":                     {says(3, 12, pages), saw(70, func(c *crawlSeen) { c.again = 4 }), full, "order"},
		"5 % came again":                               {says(3, 12, pages), saw(80, func(c *crawlSeen) { c.again = 4 }), full, "pagination"},
		"page_cap":                                     {says(5, 30, pages, func(p *pageSays) { p.atCap, p.limit = true, true }), saw(150), deeper, "max_pages"},
		"next: none":                                   {says(1, 30, func(p *pageSays) { p.onePage = true }), saw(30), passShown{}, "next_none"},
		"next: none beside a total":                    {says(1, 30, func(p *pageSays) { p.onePage = true }, total(31), asked), saw(30), passShown{}, "no_word"},
		"next: none beside a pagination":               {says(1, 30, func(p *pageSays) { p.onePage, p.paging = true, site.Paging{There: true, Unfollowed: "a form"} }, asked), saw(30), passShown{}, "unfollowed"},
		"the last page again":                          {says(4, 30, func(p *pageSays) { p.repeats, p.next = 3, true }), saw(90), full, "repeats"},
		"page 1 again with the total reached":          {says(4, 30, func(p *pageSays) { p.repeats, p.next = 1, true }, total(90)), saw(90), full, "total"},
		"page 1 again where more was counted, once":    {says(2, 30, func(p *pageSays) { p.repeats, p.next = 1, true }, total(300)), saw(30), full, "again"},
		"page 1 again where more was counted, twice":   {says(2, 30, func(p *pageSays) { p.repeats, p.next = 1, true }, total(300), asked), saw(30), full, "repeats"},
		"page 1 again where the last crawl found more": {says(2, 30, func(p *pageSays) { p.repeats = 1 }), saw(30, wentFurther), full, "cut short"},
		"404, once":                                     {says(3, 0, func(p *pageSays) { p.gone = true }), saw(60), full, "again"},
		"404, twice":                                    {says(3, 0, func(p *pageSays) { p.gone = true }, asked), saw(60), full, "gone"},
		"404 with the total reached":                    {says(3, 0, func(p *pageSays) { p.gone = true }, total(60)), saw(60), full, "total"},
		"404 where the last crawl found more":           {says(3, 0, func(p *pageSays) { p.gone = true }, asked), saw(60, wentFurther), full, "cut short"},
		"a short page, and the last crawl went further": {says(2, 12), saw(42, wentFurther), full, "shrunk"},
		"the same a second time":                        {says(2, 12), saw(42, wentFurther, func(c *crawlSeen) { c.shrunk = 1 }), full, "shrunk"},
		"the same a third time":                         {says(2, 12), saw(42, wentFurther, func(c *crawlSeen) { c.shrunk = 2 }), full, "short_page"},
	} {
		v, err := judgeEnd(c.page, c.seen, c.pass)
		storetest.NoError(t, err)
		got := map[step]string{goOn: "on", askAgain: "again", end: string(v.how), cutShort: "cut short"}[v.step]
		storetest.Equal(t, got, c.want, name)
		if v.step != goOn && !v.how.Confirmed() && strings.TrimSpace(v.text) == "" {
			t.Errorf("%s: no reason", name)
		}
	}
	for _, how := range yp.Endings()[:5] {
		storetest.Equal(t, how.Confirmed(), true, string(how))
	}
}

// TestSeen counts ids as judgeEnd needs them.
func TestSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pages [][]string // organic ids
		ads   []string   // on each page
		want  [3]int     // all, organic, again
	}{
		"each once":              {[][]string{{"a", "b"}, {"c"}}, nil, [3]int{3, 3, 0}},
		"ads count apart":        {[][]string{{"a", "b"}, {"c"}}, []string{"x", "y"}, [3]int{5, 3, 0}},
		"an ad that is organic":  {[][]string{{"a", "b"}, {"x"}}, []string{"x"}, [3]int{3, 3, 0}},
		"one came again":         {[][]string{{"a", "b"}, {"b"}}, nil, [3]int{2, 2, 1}},
		"a promotion of three":   {[][]string{{"p", "a"}, {"p", "b"}, {"p", "c"}}, nil, [3]int{4, 4, 0}},
		"on two pages of three":  {[][]string{{"p", "a"}, {"p", "b"}, {"c"}}, nil, [3]int{4, 4, 1}},
		"on both pages of two":   {[][]string{{"p", "a"}, {"p", "b"}}, nil, [3]int{3, 3, 1}},
		"twice on the same page": {[][]string{{"a", "a", "b"}}, nil, [3]int{2, 2, 0}},
	} {
		s := newSeen()
		for i, ids := range c.pages[:len(c.pages)-1] {
			s.page(i+1, len(ids), false, ids, c.ads)
		}
		last := len(c.pages)
		got := s.with(last, len(c.pages[last-1]), false, c.pages[last-1], c.ads)
		storetest.Equal(t, [3]int{got.all, got.organic, got.again}, c.want, name)
	}
}
