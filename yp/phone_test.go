package yp

import (
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"
)

func TestCanonicalPhone(t *testing.T) {
	const want = "+13105550123"
	for _, in := range []string{
		"(310) 555-0123", "310-555-0123", "310.555.0123", "3105550123", "1-310-555-0123", "+1 310 555 0123", "+13105550123",
		"tel:+1-310-555-0123", "tel:3105550123", "tel:%28310%29%20555-0123", "tel:%2B13105550123", "  (310)\u00a0555–0123 ",
		"310/555-0123", "310 555 0123 x4", "310-555-0123 ext. 99", "310-555-0123,,99", "310-555-0123;ext=99", "310-555-0123 #9",
		"Phone: (310) 555-0123", "(310) 555-0123 or (310) 555-0124", "310-555-0123 / 310-555-0124", "(310)555-0123 Fax",
	} {
		t.Run(in, func(t *testing.T) {
			if got, ok := CanonicalPhone(in); got != want || !ok {
				t.Errorf("got %q, %t", got, ok)
			}
		})
	}
	for name, in := range map[string]string{
		"Empty": "", "Words": "call us", "Local": "555-0123", "LocalWithExtension": "555-0123 ext 123", "ShortExtension": "310 555 ext 0123", "InLetters": "1-800-FLOWERS",
		"TooLong": "310-555-01234", "Britain": "+44 20 7946 0958", "Germany": "+49 30 123456", "Singapore": "+65 6123 4567",
		"TenDigitsWithPlus": "+310 555 0123", "Prefix011": "011 44 20 7946 0958", "Zeros": "(000) 000-0000", "AreaOne": "(110) 555-0123",
		"Area911": "(911) 555-0123", "AreaN9X": "(390) 555-0123", "ExchangeOne": "(310) 155-0123", "OtherDigits": "310-555-012٣",
		"Huge": strings.Repeat("3105550123 ", 1000), "NUL": "\x00\x00", "Invalid": "\xff\xfe", "Percent": "%%%%",
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := CanonicalPhone(in); ok || got != "" {
				t.Errorf("CanonicalPhone(%q) = %q", in, got)
			}
		})
	}
}

// TestPhoneOracle writes numbers in the ways of directories and compares with
// libphonenumber: what it calls valid we must read, and as the same number; what
// we read it must read alike. Exchanges that begin with 0 or 1 are not drawn:
// the plan has none, but libphonenumber lets some pass for Caribbean area codes.
func TestPhoneOracle(t *testing.T) {
	digits := rapid.StringMatching(`[2-9][0-9]{2}[2-9][0-9]{2}[0-9]{4}`)
	prefix := rapid.SampledFrom([]string{"", "1", "1-", "+1", "+1 ", "tel:", "tel:+1-"})
	form := rapid.SampledFrom([][3]string{
		{"(", ") ", "-"}, {"", "-", "-"}, {"", ".", "."}, {"", " ", " "}, {"", "", ""}, {"(", ")", " - "}, {"", "\u00a0", "–"},
	})
	suffix := rapid.SampledFrom([]string{"", " ", " x12", " ext. 4", " ext 123", ";ext=7"})
	rapid.Check(t, func(t *rapid.T) {
		d, f := digits.Draw(t, "digits"), form.Draw(t, "form")
		s := prefix.Draw(t, "prefix") + f[0] + d[:3] + f[1] + d[3:6] + f[2] + d[6:] + suffix.Draw(t, "suffix")
		got, ok := CanonicalPhone(s)
		number, err := phonenumbers.Parse(s, "US")
		if err != nil {
			t.Fatalf("the oracle can't read %q: %v", s, err)
		}
		oracle := phonenumbers.Format(number, phonenumbers.E164)
		if valid := phonenumbers.IsValidNumber(number); valid && !ok {
			t.Fatalf("%q: the oracle says %s, we none", s, oracle)
		}
		if ok && got != oracle {
			t.Fatalf("%q: the oracle says %s, we %s", s, oracle, got)
		}
	})
}

func FuzzCanonicalPhone(f *testing.F) {
	for _, s := range []string{"(310) 555-0123", "tel:+1-310-555-0123 x4", "1-800-FLOWERS", "+44 20 7946 0958", "%2B1%20", "\xff٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := CanonicalPhone(s)
		if !ok {
			if got != "" {
				t.Errorf("CanonicalPhone(%q) = %q without ok", s, got)
			}
			return
		}
		if again, ok := CanonicalPhone(got); again != got || !ok {
			t.Errorf("CanonicalPhone(%q) = %q, then %q", s, got, again)
		}
		number, err := phonenumbers.Parse(got, "US")
		if err != nil || !phonenumbers.IsPossibleNumber(number) || number.GetCountryCode() != 1 {
			t.Errorf("CanonicalPhone(%q) = %q: not possible (%v)", s, got, err)
		}
	})
}
