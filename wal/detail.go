package wal

import "ypcrawl/yp"

// detail is the part of a line that is about a listing's own page; nil when the line
// has none, or does not say whose.
func (l *line) detail() *Detail {
	if l.Detail == nil || l.Source == "" || l.Listing == "" {
		return nil
	}
	return &Detail{Source: l.Source, Listing: l.Listing, Token: l.Token, Found: *l.Detail}
}

// appendDetail writes a detail. An event has a target or a detail, not both: their
// "source" is one key.
func appendDetail(b []byte, d *Detail) []byte {
	if d == nil {
		return b
	}
	b = append(b, `,"source":`...)
	b = appendString(b, d.Source)
	b = append(b, `,"listing_id":`...)
	b = appendString(b, d.Listing)
	b = appendInt(b, `,"detail_token":`, d.Token)
	b = append(b, `,"detail":`...)
	return appendFound(b, &d.Found)
}

// appendFound writes the JSON form that yp.Detail's tags give; a test sets every field
// by reflection, so that a new one can't be forgotten here.
func appendFound(b []byte, d *yp.Detail) []byte {
	b = append(b, `{"id":`...)
	b = appendString(b, d.ID)
	b = appendText(b, `,"name":`, d.Name)
	b = appendText(b, `,"email":`, d.Email)
	b = appendText(b, `,"phone":`, d.Phone)
	b = appendText(b, `,"phone_e164":`, d.PhoneE164)
	b = appendText(b, `,"website_url":`, d.WebsiteURL)
	b = appendText(b, `,"website":`, d.Website)
	b = appendText(b, `,"domain":`, d.Domain)
	b = appendList(b, `,"hours":`, d.Hours)
	b = appendFloat(b, `,"lat":`, d.Lat)
	b = appendFloat(b, `,"lon":`, d.Lon)
	b = appendList(b, `,"payment":`, d.Payment)
	b = appendList(b, `,"social":`, d.Social)
	b = appendList(b, `,"services":`, d.Services)
	b = appendList(b, `,"languages":`, d.Languages)
	b = appendList(b, `,"neighborhoods":`, d.Neighborhoods)
	b = appendList(b, `,"aka":`, d.AKA)
	b = appendInt(b, `,"founded":`, d.Founded)
	b = appendInt(b, `,"years_in_business":`, d.Years)
	b = appendText(b, `,"about":`, d.About)
	return append(b, '}')
}
