package yp

import (
	"strconv"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for in, want := range map[string]int{
		"(12)": 12, "12 reviews": 12, "12reviews": 12, "Reviews: 12": 12, "0": 0, "25 Years": 25, "1,108": 1108, "Showing 1,108 of": 1108, "1,234,567": 1234567,
		"1.234": 1234, "1.108.200": 1108200, "2.345": 2345, "1 470": 1470, "1\u00a0470": 1470, "1\u202f470 avis": 1470, "1\u2009470": 1470, "12 345 678": 12345678,
		"1'234": 1234, "1’234 Bewertungen": 1234, "1,23,456": 123456, "12,34,567": 1234567, "1,00,00,000": 10000000, "12.0": 12, "12,00": 12, "1,234.00": 1234,
		"1.234,0": 1234, "１２３": 123, "１，２３４": 1234, "٢٣": 23, "١٬٢٣٤": 1234, "53. 108 more": 53, "30 10 miles": 30, "30 of 93": 30, "(1,012)": 1012,
		"12条": 12, "12건": 12, "012": 12, "Top-12": 12, "12.": 12, "12 reviews, 3 photos": 12, "12 to go": 12, "12 ratings": 12,
		"12 (3 new)": 12, "12-year-old": 12, "12, 13": 12, "1234567": 1234567, "12 m away": 12, "12 km": 12, "12 mins": 12,
	} {
		if got, exact, ok := Count(in); got != want || !exact || !ok {
			t.Errorf("%q: got %d, exact %t, %t; want %d", in, got, exact, ok, want)
		}
	}
	for in, want := range map[string]int{
		"1.2K": 1200, "1.2k reviews": 1200, "1,2K": 1200, "1.2 K": 1200, "(3K)": 3000, "1K+": 1000, "12K": 12000, "1M": 1000000, "1.5M": 1500000, "2,5 Mio. Bewertungen": 2500000,
		"1,2 Tsd. Rezensionen": 1200, "1,2 mil opiniones": 1200, "1.2万": 12000, "3만": 30000, "1.25 lakh": 125000, "1 thousand": 1000,
		"1.234M": 1234000, "1,234M": 1234000, "12.345M": 12345000, "1,234 Mio.": 1234000, "3万条评论": 30000, "1,2 тыс. отзывов": 1200,
		"1,000+": 1000, "1,000 +": 1000, "500 or more": 500, "500 stores or more": 500, "100+ results": 100, "about 1,200": 1200, "more than 1,000": 1000, "~300": 300, "ca. 300": 300, "0.5K": 500,
	} {
		got, exact, ok := Count(in)
		if got != want || exact || ok != (want > 0) {
			t.Errorf("%q: got %d, exact %t, %t; want %d", in, got, exact, ok, want)
		}
	}
	for _, in := range []string{
		"", "none", "2.3", "2.3 reviews", "4.7 (123)", "0.123", ".5", "1,10", "12,3456", "1.2.3", "1,234,5", "1,234.5", "1.234K", "1,234K", "98% recommend", "98 %", "-5", "(-5)", "−5",
		"10-20 reviews", "10 – 20", "12/10/2024", "12:30", "1e3", "99999999999999999999", "2000000000", "9999M", "12٣", "1,2345", "1.23456K",
		"5 stars", "5 Sterne", "5★", "5-star", "★★★★★ 5", "4 out of 5", "4 von 5 Sternen", "4 / 5", "Rated 4", "Rated: 4 (12)", "1B", "1 B", "1bn", "1 billion", "2 Mrd.", "3L", "3 L", "3 lacs", "2 crore", "2 dozen", "12th", "1st", "12º", "12ème",
		"1'23", "1’23", "5'10", "1'2345", "1_234", "1·234", "12x4", "12abc3", "5km", "10 to 20 reviews", "10~20", "1.000M", "1 234M", "1'234M", "1.234.567M", "1.234万",
	} {
		if got, exact, ok := Count(in); ok || got != 0 || exact {
			t.Errorf("%q: got %d, exact %t, want none", in, got, exact)
		}
	}
}

func TestWholeCount(t *testing.T) {
	for in, want := range map[string]string{ // what a pattern took is before the bar
		"12|K results": "12K", "1.2|K": "1.2K", "1|,234 more": "1,234", "1| 234 more": "1 234", "1|’234": "1'234", "12| results": "12", "1|+": "1+", "98|% of": "98%", "12|": "12", "1,|234": "1,",
		"1-30| of 93": "1-30", "30 10| miles": "30 10", "1|.2.3": "", "53|. 108 more": "53", "|12": "", "1-1|.108": "1-1.108", "12| Mio. Treffer": "12 Mio.", "53| 1": "53", "1|٢": "",
	} {
		part, behind, _ := strings.Cut(in, "|")
		if got := WholeCount("", part, behind); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{ // and between two bars
		"1,|234| results": "1,234", "1.|234| results": "1.234", "1'|234| x": "1'234", "1’|234| x": "1'234", "1|234| x": "1234", "1,234,|567|": "1,234,567", "1,|234|,567": "1,234,567", "1,|234|K": "1,234K", "of 1,|234 results|": "",
		"1 |234| results": "", "1\u00a0|234| results": "", "1\u202f|234| x": "", "Page 1 |234|": "", "2.|5|K": "2.5K", "4.|7| (12)": "4.7", "v1.|12|": "1.12", "1.2.|3|": "", "١٬|٢٣٤|": "1'234", "1,\u200b|234| x": "1,234", "2|٢|": "",
		"of |93|": "93", "of |93|.": "93", "1-30 of |93| x": "93", "Page 2, |30| results": "30", "1 |30| results": "30", "2024 |234| results": "234", "1-|30|": "30", "4. |12|": "12", "1,|x|": "x", ", |12|": "12", "'|12|'": "12", "a.|12|": "12", "12/|345|": "345",
	} {
		parts := strings.Split(in, "|")
		if got := WholeCount(parts[0], parts[1], parts[2]); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzCount(f *testing.F) {
	for _, s := range []string{"(12)", "1,234 reviews", "1.2K", "1,23,456", "1\u202f470", "12.0", "1.2.3", "12/10", "١٬٢٣٤", "1,1,1,1,1,1", "\xff1", "3만", ",,.1", "1,00" + strings.Repeat(",00", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, exact, ok := Count(s)
		if n < 0 || n > mostCounted || !ok && (n != 0 || exact) {
			t.Errorf("Count(%q) = %d, %t, %t", s, n, exact, ok)
		}
		if plainest, isExact, ok := Count(strconv.Itoa(n)); plainest != n || !isExact || !ok {
			t.Errorf("%d is read as %d", n, plainest)
		}
		if thousands, isExact, ok := Count(Thousands(int64(n))); thousands != n || !isExact || !ok {
			t.Errorf("%s is read as %d", Thousands(int64(n)), thousands)
		}
	})
}
