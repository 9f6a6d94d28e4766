package yp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAppendHours(t *testing.T) {
	for in, want := range map[string]string{
		// schema.org's own form stays as it is
		"Mo-Th 11:00-21:30":             "Mo-Th 11:00-21:30",
		"Fr 12:00-02:00":                "Fr 12:00-02:00",
		"Mo-Fr 08:00-12:00,13:00-17:00": "Mo-Fr 08:00-12:00,13:00-17:00",
		"Mo-Su 00:00-24:00":             "Mo-Su 00:00-24:00",
		"Su":                            "Su 00:00-24:00",
		"Mo-Su":                         "Mo-Su 00:00-24:00",
		"Mo, We":                        "Mo,We 00:00-24:00",
		"Mo,We,Fr 09:00-12:00":          "Mo,We,Fr 09:00-12:00",
		// one text with several entries
		"Mo-Fr 09:00-17:00, Sa 10:00-14:00": "Mo-Fr 09:00-17:00|Sa 10:00-14:00",
		// the 12-hour clock
		"Mon - Fri 7:00 am - 5:00 pm":             "Mo-Fr 07:00-17:00",
		"Mon-Fri: 7 a.m. to 5 p.m.":               "Mo-Fr 07:00-17:00",
		"MONDAY 7AM–5PM":                          "Mo 07:00-17:00",
		"Sat 11:00 am - 12:00 am":                 "Sa 11:00-00:00",
		"Fri 12:00 pm - 2:00 am":                  "Fr 12:00-02:00",
		"Sun noon to midnight":                    "Su 12:00-00:00",
		"Tues 9:00 am - 12:00 pm, 1:00 pm - 5 pm": "Tu 09:00-12:00,13:00-17:00",
		"Thurs 9a-5p":                             "Th 09:00-17:00",
		// days
		"Mo 09:00-17:00, Sat & Sun Closed": "Mo 09:00-17:00",
		"Daily 09:00-17:00":                "Mo-Su 09:00-17:00",
		"Sa-Mo 09:00-17:00":                "Sa-Mo 09:00-17:00",
		"Mo,Tu,We,Th,Fr 09:00-17:00":       "Mo-Fr 09:00-17:00",
		"Mo,Mo 09:00-17:00":                "Mo 09:00-17:00",
		"Monday Open 24 Hours":             "Mo 00:00-23:59",
		"Monday 09:00:00-17:00:00":         "Mo 09:00-17:00",
		// other ways to write a time
		"Mo 9:00-17:00":                   "Mo 09:00-17:00",
		"Mo-Fr 9-17 Uhr":                  "Mo-Fr 09:00-17:00",
		"Mo-Fr 9 Uhr bis 18.30 Uhr":       "Mo-Fr 09:00-18:30",
		"Mo 09.00-17.00":                  "Mo 09:00-17:00",
		"Mo 09h00-12h30 und 14h-18h":      "Mo 09:00-12:30,14:00-18:00",
		"Mo 0900-1700":                    "Mo 09:00-17:00",
		"Mon 9:00 am - 12:00 noon":        "Mo 09:00-12:00",
		"Mon 9:00 am - 12 midnight":       "Mo 09:00-00:00",
		"Mon 9:00\u202fam - 5:00\u202fpm": "Mo 09:00-17:00",
		"Mon 9:00 a. m. - 5:00 p. m.":     "Mo 09:00-17:00",
		// not understood, or in more than one way
		"":                               "",
		"By appointment":                 "",
		"Mon by appointment":             "",
		"9:00 am - 5:00 pm":              "",
		"Mon 9 - 5":                      "",
		"Mon 7 - 9 pm":                   "",
		"Mon 09:00":                      "",
		"Mon 25:00-26:00":                "",
		"Mon 09:60-10:00":                "",
		"Mon 13:00 pm - 2:00 pm":         "",
		"Mon 09:00-09:00":                "",
		"Mon - 09:00-17:00":              "",
		"M 09:00-17:00":                  "",
		"Open 24 Hours":                  "",
		strings.Repeat("Mo,", 1000):      "",
		strings.Repeat("Mo Closed ", 20): "",
		"Monday":                         "",
		"Mo 9:00-5:00":                   "",
		"Mo 24:00-01:00":                 "",
		"Mo 09:00-xx:00":                 "",
		"Mo 9-5 Uhr Termin":              "",
	} {
		hours, ok := AppendHours(nil, in)
		if got := strings.Join(hours, "|"); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", clipText(in), got, ok, want)
		}
	}
}

// TestClosedDays: they are left out; where all are, the list is empty and not nil.
func TestClosedDays(t *testing.T) {
	for _, in := range []string{"Sat & Sun Closed", "Mo-Su closed", "Mo closed, Tu closed"} {
		if hours, ok := AppendHours(nil, in); hours == nil || len(hours) != 0 || !ok {
			t.Errorf("%q: got %#v, %t", in, hours, ok)
		}
	}
	if hours, ok := AppendHours(nil, "by appointment"); hours != nil || ok {
		t.Errorf("got %#v, %t", hours, ok)
	}
}

func TestHoursBetween(t *testing.T) {
	for in, want := range map[string]string{
		"09:00|17:00":                        "09:00-17:00",
		"09:00 AM|09:00 PM":                  "09:00-21:00",
		"9:00 am|9:00 p.m.":                  "09:00-21:00",
		"9am|9PM":                            "09:00-21:00",
		"09.00|21.00":                        "09:00-21:00",
		"09h00|21h":                          "09:00-21:00",
		"9h|12h30":                           "09:00-12:30",
		"0900|2100":                          "09:00-21:00",
		"9 Uhr|21 Uhr":                       "09:00-21:00",
		"9.30 Uhr|21 Uhr":                    "09:30-21:00",
		"9:00|21:00":                         "09:00-21:00",
		"9:00 AM|17:00":                      "09:00-17:00",
		"noon|midnight":                      "12:00-00:00",
		"12:00 noon|12 midnight":             "12:00-00:00",
		"09:00:00-05:00|17:00:00-05:00":      "09:00-17:00",
		"09:00:00.000Z|17:00:00.000Z":        "09:00-17:00",
		"T09:00|T17:00+01":                   "09:00-17:00",
		"2026-01-01T09:00|2026-01-01 17:00":  "09:00-17:00",
		"00:00|24:00":                        "00:00-24:00",
		"00:00|23:59:59":                     "00:00-23:59",
		"18:00|02:00":                        "18:00-02:00",
		"12:00 AM|11:59 PM":                  "00:00-23:59",
		"00:00|00:00":                        "closed",
		"00:00:00|12:00 AM":                  "closed",
		"09:00|09:00":                        "",
		"9:00|5:00":                          "",
		"9|5":                                "",
		"9:00|5:00 PM":                       "",
		"24:00|08:00":                        "",
		"25:00|26:00":                        "",
		"13:00 PM|14:00 PM":                  "",
		"09:60|17:00":                        "",
		"by appointment|17:00":               "",
		"09:00|":                             "",
		"|":                                  "",
		strings.Repeat("9", 5000) + "|17:00": "",
	} {
		opens, closes, _ := strings.Cut(in, "|")
		got, ok := HoursBetween(opens, closes)
		if ok && got == "" {
			got = "closed"
		}
		if got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t, want %q", clipText(in), got, ok, want)
		}
	}
}

func clipText(s string) string { return s[:min(len(s), 60)] }

func TestJoinDays(t *testing.T) {
	for in, want := range map[string]string{
		"Mo 09:00-17:00|Tu 09:00-17:00|We 09:00-17:00|Th 09:00-17:00|Fr 09:00-17:00|Sa|Su": "Mo-Fr 09:00-17:00|Sa-Su",
		"Su|Mo 09:00-17:00|Tu 10:00-17:00":                                                 "Su|Mo 09:00-17:00|Tu 10:00-17:00",
		"Mo-Th 11:00-21:30|Fr-Sa 11:00-21:30":                                              "Mo-Th 11:00-21:30|Fr-Sa 11:00-21:30",
		"Sa|Su|Mo":                                                                         "Sa-Mo",
		"Mo|Mo":                                                                            "Mo|Mo",
		"Mo|Tu|We|Th|Fr|Sa|Su|Mo":                                                          "Mo-Su|Mo",
	} {
		got := strings.Join(JoinDays(strings.Split(in, "|")), "|")
		if got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := JoinDays(nil); len(got) != 0 {
		t.Errorf("nothing: %v", got)
	}
}

// FuzzAppendHours: what is understood is understood again as the same.
func FuzzAppendHours(f *testing.F) {
	for _, s := range []string{"Mo-Fr 09:00-17:00", "Sat & Sun 7:00 am - 12 pm, 1 pm - 5 pm", "Su Closed", "Mon Open 24 Hours", "Mo-We,Fr noon-midnight"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		hours, ok := AppendHours(nil, s)
		if !ok {
			return
		}
		for _, h := range hours {
			again, ok := AppendHours(nil, h)
			if diff := cmp.Diff([]string{h}, again); !ok || diff != "" {
				t.Fatalf("%q: %q: %s", s, h, diff)
			}
		}
		JoinDays(hours)
	})
}
