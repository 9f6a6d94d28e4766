package yp

import (
	"regexp"
	"slices"
	"strconv"
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
		"３１０-555-0123", "（３１０）５５５－０１２３", "+１ 310 555 0123", "٣١٠٥٥٥٠١٢٣", "310‑555‑0123", "001-310-555-0123", "001 (310) 555-0123", "0013105550123",
	} {
		t.Run(in, func(t *testing.T) {
			if got, ok := CanonicalPhone(in); got != want || !ok {
				t.Errorf("got %q, %t", got, ok)
			}
		})
	}
	for name, in := range map[string]string{
		"Empty": "", "Words": "call us", "Local": "555-0123", "LocalWithExtension": "555-0123 ext 123", "ShortExtension": "310 555 ext 0123",
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

// TestPhoneInLetters: what stands for digits, and what is other text or hides them.
func TestPhoneInLetters(t *testing.T) {
	for in, want := range map[string]string{
		"1-800-FLOWERS": "+18003569377", "(800) GO-FEDEX": "+18004633339", "877-KARS-4-KIDS": "+18775277454", "310-555-CALL x2": "+13105552255",
		"1 800 FLOWERS": "+18003569377", "1.800.FLOWERS": "+18003569377", "1-800-Flowers": "+18003569377", "1-800-flowers": "+18003569377", "+1-800-FLOWERS": "+18003569377",
		"tel:1-800-FLOWERS": "+18003569377", "tel:+1-800-FLOWERS": "+18003569377", "001-800-FLOWERS": "+18003569377", "1-800-FLOWERS.COM": "+18003569377",
		"1-800-FLOWERS (356-9377)": "+18003569377", "1-800-CONTACTS": "+18002668228", "1-877-KARS4KIDS": "+18775277454", "1-800-4-A-CHILD": "+18004224453",
		"1-800-AAA-HELP": "+18002224357", "1-866-555-HELP ext. 4": "+18665554357", "(310) 555-CALL": "+13105552255", "310-CALL-NOW": "+13102255669", "Call 1-800-FLOWERS": "+18003569377",
		"１-８００-FLOWERS": "+18003569377", "888-QUIZZES": "+18887849937", "(800)Flowers": "+18003569377",

		"310 area call 555-0123": "", "FLOWERS": "", "800-FLOWER": "", "80-FLOWERS": "", "1-900-FLOWERS": "+19003569377", "1-800-1FLOWERS": "",
		"555-2123 CALL": "", "555-2123 call us": "", "1-555-2123 CALL": "", "310 555 call us": "", "310 555 Call Now": "", "310-555 fax 0123": "", "310-555 FAX": "", "310 555 OFFICE": "",
		"1 800 Flowers": "", "(310) 555-XXXX": "", "310-555-xxxx": "", "310-555-01XX": "", "310-XXX-XXXX": "", "310-555-NNNN": "", "310-555-O123": "", "310-555-012O": "", "31O-555-0123": "",
		"310-555-01l3": "", "310-5S5-0123": "", "310-555-ÄÖÜß": "", "+44 800 FLOWERS": "", "+800-FLOWERS": "", "310-555-X123": "", "1-800-FAX": "",
	} {
		if got, ok := CanonicalPhone(in); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", in, got, ok, want)
		}
	}
}

// TestE164 has numbers on pages of sources in several countries.
func TestE164(t *testing.T) {
	for _, c := range []struct{ in, country, want string }{
		{"(347) 234-5678", "US", "+13472345678"},
		{"347 234 5678", "CA", "+13472345678"},
		{"(787) 234-5678", "PR", "+17872345678"},
		{"1-876-234-5678", "JM", "+18762345678"},
		{"347 234 5678", "IT", "+393472345678"},
		{"98765 43210", "IN", "+919876543210"},
		{"030 123456", "DE", "+4930123456"},
		{"202-555-0123", "MX", ""},
		{"1 347 234 5678", "IT", ""},
		{"+49 30 123456", "US", "+4930123456"},
		{"+49 30 123456", "DE", "+4930123456"},
		{"+49 (0)30 / 12 34-56", "IT", "+4930123456"},
		{"(+49) 30 123456", "US", "+4930123456"},
		{"Tel.: +49.30.123456", "US", "+4930123456"},
		{"tel:+49-30-123456;ext=5", "US", "+4930123456"},
		{"tel:%2B49%2030%20123456", "US", "+4930123456"},
		{"＋４９ ３０ １２３４５６", "US", "+4930123456"},
		{"+1 347 234 5678", "IT", "+13472345678"},
		{"001 347 234 5678", "IT", "+13472345678"},
		{"001-202-555-0123", "US", "+12025550123"},
		{"011 1 202 555 0123", "US", "+12025550123"},
		{"00 49 30 123456", "IT", "+4930123456"},
		{"0049 (0)30 123456", "AT", "+4930123456"},
		{"(00) 49 30 123456", "IT", "+4930123456"},
		{"011 49 30 123456", "US", "+4930123456"},
		{"011-49-30-123456", "CA", "+4930123456"},
		{"0011 49 30 123456", "AU", "+4930123456"},
		{"010 49 30 123456", "JP", "+4930123456"},
		{"8~10 49 30 123456", "RU", ""},
		{"00 49 30 123456", "US", ""},
		{"011 49 30 123456", "DE", ""},
		{"00 49 30 123456", "BR", ""},
		{"0011 202 555 0123", "US", ""},
		{"+001 202 555 0123", "US", ""},
		{"+39 06 1234 5678", "US", "+390612345678"},
		{"+39 (0)6 1234 5678", "IT", "+390612345678"},
		{"+49 030 123456", "DE", ""},
		{"+310 555 0123", "US", ""},
		{"+44 20 7946 0958 x12", "GB", "+442079460958"},
		{"+44 20 7946 0958 ext. 12", "GB", "+442079460958"},
		{"+44 20 7946 0958x12", "GB", "+442079460958"},
		{"+44 20 7946 0958 (office)", "GB", "+442079460958"},
		{"+44 20 7946 0958 or 020 7946 0959", "GB", "+442079460958"},
		{"+44 20 7946 0958, 020 7946 0959", "GB", "+442079460958"},
		{"+44 20 7946 0958 / 020 7946 0959", "GB", "+442079460958"},
		{"+49 30 1234567/8", "DE", "+49301234567"},
		{"+49 30/1234567", "DE", "+49301234567"},
		{"+44 20 7946 0958 +44 20 7946 0959", "GB", "+442079460958"},
		{"+91 98765 43210", "IN", "+919876543210"},
		{"+44 800 123 CALL", "GB", ""},
		{"+44 800 123 call", "GB", ""},
		{"+44 800 123-CALL", "GB", ""},
		{"+44 800 123 (CALL)", "GB", ""},
		{"+44 800 FLOWERS", "GB", ""},
		{"+44 800 12345 CALL NOW", "GB", ""},
		{"00 44 800 123 CALL", "DE", ""},
		{"+44 20 7946 0958 (Office)", "GB", "+442079460958"},
		{"+44 20 7946 0958 Fax: 020 7946 0959", "GB", "+442079460958"},
		{"+49 30 123456 oder 654321", "DE", "+4930123456"},
		{"+49 30 123456 (Büro)", "DE", "+4930123456"},
		{"+81 3 1234 5678 (代表)", "JP", "+81312345678"},
		{"+7 495 123-45-67 доб. 5", "RU", "+74951234567"},
		{"+415 555 0123", "US", ""},
		{"+415-555-0123", "CA", ""},
		{"+(415) 555-0123", "US", ""},
		{"(+415) 555-0123", "US", ""},
		{"+415.555.0123 x4", "US", ""},
		{"tel:+415-555-0123", "US", ""},
		{"+415 555 0123", "CH", "+4155550123"},
		{"+212 555 0123", "US", ""},
		{"+800 555 0123", "US", ""},
		{"+212 555 0123", "MA", "+2125550123"},
		{"+212 522 555 012", "US", "+212522555012"},
		{"+354 555 0123", "US", "+3545550123"},
		{"+41 55 555 01 23", "US", "+41555550123"},
		{"+45 32 12 34 56", "US", "+4532123456"},
		{"+65 6123 4567", "US", "+6561234567"},
		{"+49 30 123***", "DE", ""},
		{"+49 30 123xxx", "DE", ""},
		{"+49 30 123 XXX", "DE", ""},
		{"+49 30 123 xxx call", "DE", ""},
		{"+49 30 123...", "DE", ""},
		{"+49 30 123456…", "DE", ""},
		{"+49 30 123456abc", "DE", ""},
		{"+999 123456", "US", ""},
		{"+210 1234567", "US", ""},
		{"+49 30", "DE", ""},
		{"+49 30 1234567890123", "DE", ""},
		{"+", "US", ""},
		{"+49", "DE", ""},
		{"+1 555", "DE", ""},
		{"+1 110 555 0123", "DE", ""},
		{"", "DE", ""},
		{"123456", "US", ""},
		{"123456", "DE", ""},
		{strings.Repeat("+49 30 123456 ", 20), "DE", ""},
	} {
		if got, ok := E164(c.in, c.country); got != c.want || ok != (c.want != "") {
			t.Errorf("%q in %s: got %q, %t, want %q", c.in, c.country, got, ok, c.want)
		}
	}
}

func TestShownPhone(t *testing.T) {
	for _, c := range []struct{ in, country, shown, e164 string }{
		{"Phone: (310) 555-0123", "US", "(310) 555-0123", "+13105550123"},
		{"Tel. 347 234 5678", "IT", "347 234 5678", "+393472345678"},
		{"98765 43210", "IN", "98765 43210", "+919876543210"},
		{"123456", "DE", "123456", ""},
		{"12 34 56", "US", "12 34 56", ""},
		{"12345", "US", "", ""},
		{"Phone: 1-800-FLOWERS", "US", "1-800-FLOWERS", "+18003569377"},
		{"(800) GO-FEDEX", "CA", "(800) GO-FEDEX", "+18004633339"},
		{"1-800-FLOWERS", "DE", "", ""},
		{"+1-800-FLOWERS", "DE", "+1-800-FLOWERS", "+18003569377"},
		{"800 555 or so", "US", "800 555 or so", ""},
		{"call us", "US", "", ""},
		{"電話：０３-１２３４-５６７８", "JP", "０３-１２３４-５６７８", "+81312345678"},
		{"２０２-555-0123", "US", "２０２-555-0123", "+12025550123"},
		{"Fon （030）123456", "DE", "（030）123456", "+4930123456"},
		{"+49 30 123456", "US", "+49 30 123456", "+4930123456"},
		{"+44 800 123 CALL", "GB", "+44 800 123 CALL", ""},
		{"+415 555 0123", "US", "+415 555 0123", ""},
	} {
		if shown, e164 := ShownPhone(c.in, c.country); shown != c.shown || e164 != c.e164 {
			t.Errorf("%q in %s: got %q, %q, want %q, %q", c.in, c.country, shown, e164, c.shown, c.e164)
		}
	}
}

// TestE164Oracle dials each country's example number from every other country, as libphonenumber writes it.
func TestE164Oracle(t *testing.T) {
	examples := map[string]*phonenumbers.PhoneNumber{}
	for region := range phonenumbers.GetSupportedRegions() {
		if n := phonenumbers.GetExampleNumber(region); n != nil {
			examples[region] = n
		}
	}
	for region, n := range examples {
		want := phonenumbers.Format(n, phonenumbers.E164)
		for _, s := range []string{want, phonenumbers.Format(n, phonenumbers.INTERNATIONAL), phonenumbers.Format(n, phonenumbers.RFC3966)} {
			if got, _ := E164(s, "US"); got != want {
				t.Errorf("%s: %q is read as %q, want %q", region, s, got, want)
			}
		}
		for _, country := range countries {
			prefix := dialledAbroad(country)
			if prefix == "" || phonenumbers.GetCountryCodeForRegion(country) == 0 || InNANP(country) && n.GetCountryCode() == 1 {
				continue
			}
			s := prefix + " " + strings.TrimPrefix(phonenumbers.Format(n, phonenumbers.INTERNATIONAL), "+")
			if got, _ := E164(s, country); got != want {
				t.Errorf("%q dialled in %s is read as %q, want %q", s, country, got, want)
			}
			if number, err := phonenumbers.Parse(s, country); err != nil || phonenumbers.Format(number, phonenumbers.E164) != want {
				t.Errorf("%q dialled in %s: the oracle does not read it as %s", s, country, want)
			}
		}
	}
}

// TestCountries holds the tables of countries to those of libphonenumber, which has three regions that are no countries,
// and lacks those that nobody lives in.
func TestCountries(t *testing.T) {
	regions := phonenumbers.GetSupportedRegions()
	for region := range regions {
		if !slices.Contains(countries, region) && !slices.Contains([]string{"AC", "TA", "XK"}, region) {
			t.Errorf("%s is no country", region)
		}
		if InNANP(region) != (phonenumbers.GetCountryCodeForRegion(region) == 1) {
			t.Errorf("%s: of the plan %t", region, InNANP(region))
		}
	}
	if len(countries) != 249 || !slices.IsSorted(countries) {
		t.Errorf("%d countries", len(countries))
	}
	codes := phonenumbers.GetSupportedGlobalNetworkCallingCodes()
	for region := range regions {
		codes[phonenumbers.GetCountryCodeForRegion(region)] = true
	}
	delete(codes, 1)
	if len(codes) != len(callingCodes) {
		t.Errorf("%d country codes, want %d", len(callingCodes), len(codes))
	}
	for _, code := range callingCodes {
		if n, err := strconv.Atoi(code); err != nil || !codes[n] {
			t.Errorf("%s is no country code", code)
		}
	}
	for in, want := range map[string]string{
		"": "US", "DE": "DE", "de": `did you mean "DE"?`, "UK": `did you mean "GB"?`, "USA": `did you mean "US"?`, "Germany": `did you mean "DE"?`, "XX": "ISO 3166", "Narnia": "ISO 3166",
	} {
		code, err := ParseCountry(in)
		if len(want) == 2 && (code != want || err != nil) || len(want) > 2 && (err == nil || code != "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %q, %v", in, code, err)
		}
	}
}

// TestNotOfSeven holds the codes without numbers of seven digits to the lengths that libphonenumber knows.
func TestNotOfSeven(t *testing.T) {
	for _, code := range notOfSeven {
		n, err := strconv.ParseInt(code, 10, 32)
		if err != nil || !slices.Contains(callingCodes, code) {
			t.Errorf("%s is no country code", code)
		}
		country, number := int32(n), uint64(2345678)
		if phonenumbers.IsPossibleNumber(&phonenumbers.PhoneNumber{CountryCode: &country, NationalNumber: &number}) {
			t.Errorf("%s has numbers of seven digits", code)
		}
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

func FuzzE164(f *testing.F) {
	for _, s := range []string{"(310) 555-0123", "+49 (0)30 123456", "00 49 30/123456-0", "011 44 20 7946 0958 x4", "8~10 49", "+39 06 1", "00", "+٤٩ 30", "\xff", "+49 30 1234567/8"} {
		f.Add(s, "US")
		f.Add(s, "IT")
	}
	form := regexp.MustCompile(`^\+[1-9]\d{6,14}$`)
	f.Fuzz(func(t *testing.T, s, country string) {
		got, ok := E164(s, country)
		if ok != (got != "") || ok && !form.MatchString(got) {
			t.Fatalf("E164(%q, %q) = %q, %t", s, country, got, ok)
		}
		if again, _ := E164(got, "DE"); again != got {
			t.Errorf("E164(%q, %q) = %q, then %q", s, country, got, again)
		}
		shown, e164 := ShownPhone(s, country)
		if shown == "" && e164 != "" || !strings.HasSuffix(s, shown) {
			t.Errorf("ShownPhone(%q, %q) = %q, %q", s, country, shown, e164)
		}
	})
}
