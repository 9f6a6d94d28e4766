package yp

import (
	"maps"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"
)

// TestNumbering has numbers as pages of their countries write them.
func TestNumbering(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, country, want string }{
		// Italy's zero is part of the number.
		{"06 1234 5678", "IT", "+390612345678"},
		{"(06) 1234-5678", "IT", "+390612345678"},
		{"02/12345678", "IT", "+390212345678"},
		{"tel:0612345678", "IT", "+390612345678"},
		{"+39 06 1234 5678", "IT", "+390612345678"},
		{"39 06 1234 5678", "IT", ""},
		{"06 698 12345", "VA", "+390669812345"},
		{"0549 886377", "SM", "+3780549886377"},
		{"886377", "SM", "+3780549886377"},
		{"6 1234 5678", "IT", ""},
		// Argentina's mobile numbers have a 15 behind the area code, or a 9 before it.
		{"011 15-2345-6789", "AR", "+5491123456789"},
		{"(011) 15 2345 6789", "AR", "+5491123456789"},
		{"11 15 2345 6789", "AR", "+5491123456789"},
		{"0351 15 234 5678", "AR", "+5493512345678"},
		{"+54 9 11 2345-6789", "AR", "+5491123456789"},
		{"+54 11 15 2345-6789", "AR", "+5491123456789"},
		{"+54 11 15 2345-6789", "US", "+5491123456789"},
		{"011 4321-5678", "AR", "+541143215678"},
		{"+54 11 4321-5678", "AR", "+541143215678"},
		{"+54 11 1543 2156", "AR", "+541115432156"},
		{"15-2345-6789", "AR", ""},
		{"4321-5678", "AR", ""},
		// Germany's have no one length: without its zero a number may lack its area code.
		{"030 / 12 34 56", "DE", "+4930123456"},
		{"(030) 123456-0", "DE", "+49301234560"},
		{"033701/12345", "DE", "+493370112345"},
		{"0171/1234567", "DE", "+491711234567"},
		{"0171-1234567 / 030-123456", "DE", "+491711234567"},
		{"(0)30 123456", "DE", "+4930123456"},
		{"030 123456 (Büro)", "DE", "+4930123456"},
		{"030 123456 Fax 030 654321", "DE", "+4930123456"},
		{"0800 1234567", "DE", "+498001234567"},
		{"04927 7662", "DE", "+4949277662"},
		{"04961 12345", "DE", "+49496112345"},
		{"04978 0", "DE", ""},
		{"0497803371", "DE", ""},
		{"049697590016", "DE", ""},
		{"234567", "DE", ""},
		{"30 123456", "DE", ""},
		{"49 30 123456", "DE", ""},
		{"030 123***", "DE", ""},
		{"030 123456 0171 1234567", "DE", ""},
		{"01 5123456", "AT", "+4315123456"},
		{"5123456", "AT", ""},
		{"4312345", "AT", ""},
		{"044 668 18 00", "CH", "+41446681800"},
		// Britain, and islands with its calling code.
		{"020 7946 0958", "GB", "+442079460958"},
		{"(020) 7946 0958 x12", "GB", "+442079460958"},
		{"2079460958", "GB", "+442079460958"},
		{"44 20 7946 0958", "GB", "+442079460958"},
		{"44 (0)20 7946 0958", "GB", "+442079460958"},
		{"01481 256789", "GB", "+441481256789"},
		{"0800 1111", "GB", "+448001111"},
		{"7946 0958", "GB", ""},
		{"020 7946 095", "GB", ""},
		{"0800 FLOWERS", "GB", ""},
		// Australia has numbers that are dialled without a zero.
		{"(02) 9876 5432", "AU", "+61298765432"},
		{"0412 345 678", "AU", "+61412345678"},
		{"1300 123 456", "AU", "+611300123456"},
		{"13 12 34", "AU", "+61131234"},
		{"1800 123 456 Fax", "AU", "+611800123456"},
		{"9876 5432", "AU", ""},
		// Others.
		{"01 42 34 56 78", "FR", "+33142345678"},
		{"(0)1 42 34 56 78", "FR", "+33142345678"},
		{"912 345 678", "ES", "+34912345678"},
		{"32 12 34 56", "DK", "+4532123456"},
		{"8 (495) 123-45-67", "RU", "+74951234567"},
		{"8 (7172) 12-34-56", "KZ", "+77172123456"},
		{"06 1 234 5678", "HU", "+3612345678"},
		{"(11) 91234-5678", "BR", "+5511912345678"},
		{"(11) 3123-4567", "BR", "+551131234567"},
		{"0 15 11 91234-5678", "BR", "+5511912345678"},
		{"4004-1234", "BR", "+5540041234"},
		{"3123-4567", "BR", ""},
		{"02-2345-6789", "KR", "+82223456789"},
		{"1588-1234", "KR", "+8215881234"},
		{"2345-6789", "KR", ""},
		{"098765 43210", "IN", "+919876543210"},
		{"022 2345 6789", "IN", "+912223456789"},
		{"2345 6789", "IN", ""},
		{"000 800 136 2339", "IN", "+910008001362339"},
		{"55 1234 5678", "MX", "+525512345678"},
		{"010 6552 9988", "CN", "+861065529988"},
		{"138 1234 5678", "CN", "+8613812345678"},
		{"６１２３ ４５６７", "SG", "+6561234567"},
		{"٠٥٠ ١٢٣ ٤٥٦٧", "AE", "+971501234567"},
		{"0153 881771203", "IL", ""}, // 015 is the prefix of a carrier for calls abroad
		{"153 881771203", "IL", "+972153881771203"},
		{"02-987 6543", "IL", "+97229876543"},
		{"09:00 - 17:00", "DE", ""},
		{"030 123456", "AQ", ""},
		{"030 123456", "XX", ""},
		{"030 123456", "\t", ""},
		{"030 123456", "", ""},
		{"(347) 234-5678", "DO", "+13472345678"},
	} {
		if got, ok := E164(c.in, c.country); got != c.want || ok != (c.want != "") {
			t.Errorf("%q in %s: got %q, %t, want %q", c.in, c.country, got, ok, c.want)
		}
	}
}

// TestNumberingPlans makes the table anew.
func TestNumberingPlans(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "-C", "../tools", "run", "./numberingplans").Output()
	if err != nil {
		t.Fatalf("make the table: %v", err)
	}
	if string(out) != numberingPlans {
		t.Error("numberingplans.txt is not what go generate makes")
	}
	for line := range strings.Lines(numberingPlans) {
		country, _, _ := strings.Cut(line, "\t")
		if line[0] != '#' && planOf(country).forms() == nil && strings.Count(line, "\t") > 9 {
			t.Errorf("%s has no forms", country)
		}
	}
}

// TestNumberingOracle writes example numbers of each country and random ones as libphonenumber does, within the country and
// from abroad.
func TestNumberingOracle(t *testing.T) {
	t.Parallel()
	for _, region := range slices.Sorted(maps.Keys(phonenumbers.GetSupportedRegions())) {
		plan := planOf(region)
		if plan == nil {
			if !InNANP(region) {
				t.Errorf("%s has no plan", region)
			}
			continue
		}
		var numbers []*phonenumbers.PhoneNumber
		for kind := phonenumbers.FIXED_LINE; kind <= phonenumbers.VOICEMAIL; kind++ {
			if n := phonenumbers.GetExampleNumberForType(region, kind); n != nil {
				numbers = append(numbers, n)
			}
		}
		numbers = append(numbers, randomNumbers(t, region, plan)...)
		for _, n := range numbers {
			compareForms(t, region, n)
		}
	}
}

// randomNumbers returns 100 numbers that the oracle calls valid.
func randomNumbers(t *testing.T, region string, plan *numberingPlan) (numbers []*phonenumbers.PhoneNumber) {
	t.Helper()
	made := rapid.StringMatching(plan.types.String())
	for seed := 0; seed < 1000 && len(numbers) < 100; seed++ {
		n, err := phonenumbers.Parse("+"+plan.code+made.Example(seed), region)
		if err == nil && phonenumbers.IsValidNumber(n) && strconv.Itoa(int(n.GetCountryCode())) == plan.code {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) < 100 {
		t.Errorf("%s: %d random numbers", region, len(numbers))
	}
	return numbers
}

func compareForms(t *testing.T, region string, n *phonenumbers.PhoneNumber) {
	t.Helper()
	want := phonenumbers.Format(n, phonenumbers.E164)
	if len(want) > 1+maxE164 || len(want) < 1+leastE164 {
		return
	}
	for _, s := range []string{phonenumbers.Format(n, phonenumbers.NATIONAL), phonenumbers.Format(n, phonenumbers.INTERNATIONAL)} {
		again, err := phonenumbers.Parse(s, region)
		if err != nil || phonenumbers.Format(again, phonenumbers.E164) != want {
			continue // the oracle doesn't read it itself
		}
		if got, _ := E164(s, region); got != want {
			t.Errorf("%s: %q is read as %q, want %q", region, s, got, want)
		}
	}
}

// leastE164 is how many digits E164 wants at least, the calling code among them.
const leastE164 = 7

// FuzzNumbering holds what is read on pages of all countries to the oracle: none is another number, or one that nobody can have.
func FuzzNumbering(f *testing.F) {
	for _, s := range []string{"030 123456", "0 11 15-2345-6789", "06 1234 5678", "131234", "8 (495) 123-45-67", "0049", "000800 1234567", "44 20 7946 0958", "012 3456 7890 1234", "1588-1234"} {
		f.Add(s)
	}
	regions := slices.DeleteFunc(slices.Sorted(maps.Keys(phonenumbers.GetSupportedRegions())), InNANP)
	f.Fuzz(func(t *testing.T, s string) {
		for _, region := range regions {
			got, ok := national(s, region)
			if ok != (got != "") {
				t.Fatalf("%q in %s: got %q, %t", s, region, got, ok)
			}
			if whole, _ := E164(s, region); ok && whole == got { // else it is behind a plus, or dialled abroad
				compareNumber(t, got, s, region)
			}
		}
	})
}

func compareNumber(t *testing.T, got, s, region string) {
	t.Helper()
	if !phonenumbers.IsValidNumber(oracleNumber(got, planOf(region).code)) {
		t.Fatalf("%q in %s is read as %q, which nobody has", s, region, got)
	}
	if strings.Trim(s, "0123456789") != "" {
		return // where the number ends is not the oracle's business
	}
	number, err := phonenumbers.Parse(s, region)
	if want := phonenumbers.Format(number, phonenumbers.E164); err != nil || want != got && phonenumbers.IsValidNumber(number) {
		t.Errorf("%q in %s is read as %q, the oracle says %q (%v)", s, region, got, want, err)
	}
}

// oracleNumber returns a number in E.164 form as the oracle has it. Its parser doesn't read all of its own: it takes the first 8 of
// "+375 810 670 38 15" of Belarus for what is dialled before a number there.
func oracleNumber(e164, code string) *phonenumbers.PhoneNumber {
	national := strings.TrimPrefix(e164, "+"+code)
	digits, _ := strconv.ParseUint(national, 10, 64)
	calling, _ := strconv.Atoi(code)
	zeros := len(national) - max(1, len(strings.TrimLeft(national, "0"))) // the last digit is none of the leading ones
	return &phonenumbers.PhoneNumber{
		CountryCode: new(int32(calling)), NationalNumber: &digits, //nolint:gosec // a calling code has three digits at most
		ItalianLeadingZero: new(zeros > 0), NumberOfLeadingZeros: new(int32(zeros)), //nolint:gosec // so short is a number
	}
}

// TestNumberingDigits does it with random digits.
func TestNumberingDigits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, region := range slices.Sorted(maps.Keys(phonenumbers.GetSupportedRegions())) {
		for range 500 {
			s := strconv.FormatUint(r.Uint64N(uint64(math.Pow10(4+r.IntN(11)))), 10)
			s = strings.Repeat("0", r.IntN(3)) + s
			if plan := planOf(region); plan == nil {
				continue
			}
			got, ok := national(s, region)
			if whole, _ := E164(s, region); ok && whole == got {
				compareNumber(t, got, s, region)
			}
		}
	}
}
