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
		"Su":                            "Su",
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
		"Sat & Sun Closed":           "Sa-Su",
		"Daily 09:00-17:00":          "Mo-Su 09:00-17:00",
		"Sa-Mo 09:00-17:00":          "Sa-Mo 09:00-17:00",
		"Mo,Tu,We,Th,Fr 09:00-17:00": "Mo-Fr 09:00-17:00",
		"Mo,Mo 09:00-17:00":          "Mo 09:00-17:00",
		"Monday Open 24 Hours":       "Mo 00:00-23:59",
		"Monday 09:00:00-17:00:00":   "Mo 09:00-17:00",
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
	} {
		hours, ok := AppendHours(nil, in)
		if got := strings.Join(hours, "|"); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", clipText(in), got, ok, want)
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
