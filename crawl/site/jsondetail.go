package site

import (
	"fmt"
	"net/url"

	"ypcrawl/yp"
)

// compileJSONDetail makes the rules ready for listings' own pages that are JSON, if there are any.
func (c *compiled) compileJSONDetail(f *faults) {
	d := &c.def.Detail
	if len(d.Fields) == 0 {
		return
	}
	for at, given := range map[string]bool{
		"detail.path": d.Path != "", "detail.regions": len(d.Regions) > 0, "detail.others": len(d.Others) > 0,
		"detail.info": len(d.Info) > 0, "detail.hours": len(d.Hours) > 0, "detail.labels": len(d.Labels) > 0, "detail.ids": d.IDs != "",
	} {
		instead := "detail.fields"
		if at == "detail.path" {
			instead = "detail.url"
		}
		c.noHTML(given, at, instead, f)
	}
	c.detail = &detailRules{marks: c.compileMarks(d.Marks, "detail.marks", f), fields: c.compileDetailRules(nil, f)}
	if len(d.Fields["id"]) == 0 {
		f.lacks("detail.fields.id")
	}
}

// jsonDetail reads a listing's own page that is JSON. That its id is the one asked for, its caller must see to.
func (s *Source) jsonDetail(body []byte, final *url.URL, status int) (*Page, error) {
	doc, p, err := s.readJSON(body, final, status)
	if p != nil || err != nil {
		if p != nil && p.NotFound {
			p.Reason += ": the site has no such listing"
		}
		return p, err
	}
	r := &detailReader{src: s, at: s.linksAt(final), rules: s.detail.fields}
	r.page = cardReader{src: s, at: r.at, item: doc}
	r.ID, r.Name = r.rules["id"].identifier(&r.page), keep(r.rules["name"].first(&r.page), yp.MaxName)
	readable := r.ID != "" && r.Name != ""
	if failed := s.refusedBy(&r.page, readable); failed != nil {
		return failed, nil
	}
	if sign := s.empty.data.held(&r.page); sign != "" && !readable {
		return &Page{Outcome: NoListings, Reason: "the answer says there are no results: " + sign}, nil
	}
	chrome := s.chrome.data.held(&r.page) != ""
	r.marked = s.detail.marks.data.held(&r.page) != ""
	r.read()
	s.trace.begin(s)
	s.trace.own(r)
	p = &Page{}
	if !r.ok(p, readable) {
		r.decide(p, chrome, false)
		if words := blockPage.inBody(body); words != "" {
			p.Outcome, p.Reason = Unrecognised, saysBlocked(words)
		}
	}
	if sign := errorsOf(doc); sign != "" && p.Outcome == OK {
		p.Outcome, p.Reason, p.Listings, p.Own = Failed, fmt.Sprintf("the answer has listing %s, but also errors: %s", r.ID, sign), nil, false
	}
	return p, nil
}
