package yp

import (
	"slices"
	"strings"
	"unicode"
)

// postalCodes are the forms of postal codes, and the countries that have them (Universal Postal Union, Addressing solutions by country): # is
// a digit, @ a letter, * one of both, a blank or a hyphen a sign that is written but may lack, ~ one that is not written but may be.
// Anything else stands for itself. Countries that are not here have no postal codes.
const postalCodes = `
AD=AD###
AI=AI-2640
AZ=AZ ####,####
BB=BB#####
BM=@@ ##,@@ @@
BN=@@####
KY=KY#-####
LC=LC## ###
LV=LV-####
MS=MSR####
VC=VC####
VG=VG####
TC=TKCA 1ZZ
FK=FIQQ 1ZZ
GS=SIQQ 1ZZ
IO=BBND 1ZZ
PN=PCRN 1ZZ
SH=ASCN 1ZZ,STHL 1ZZ,TDCU 1ZZ
GI=GX11 1AA
GG=GY# #@@,GY## #@@
IM=IM# #@@,IM## #@@
JE=JE# #@@,JE## #@@
GB=@# #@@,@## #@@,@@# #@@,@@## #@@,@#@ #@@,@@#@ #@@
IE=@## ****,D6W ****
CA=@#@ #@#
NL=#### @@
MT=@@@ ####,@@@ ##
SZ=@###
AR=####,@####@@@
AX BA BL BT CR CU DE DO DZ EE ES FI FR GF GP GT HN HR ID IQ IT JO KE KR KW LA LK LT MA MC ME MF MM MQ MU MV MX MY NC NI NP PE PF PK PM RE RS SD SM SN TH TR TZ UA UY VA WF YT ZM=#####
AF AL AM AT AU BD BE BG CC CH CV CX CY DK ET GE GL GW HM HT HU LI LR LU MD MK MZ NE NF NO NZ PA PH SI SJ SV TN VE ZA=####
BY CN CO EC KG NG RO RU TJ TM TT UZ=######
IN SG=###~###
KH VN=######,#####
CZ GR SE SK=### ##
PL=##-###
PT=####-###
CL JP=###-####
BR=#####-###
IR=#####-#####,#####
IL=#######,#####
SA=#####-####,#####
TW=###,####,#####,######
BH=###,####
LB=#### ####,####
FO GN IS LS MG OM PG=###
MN=#####,######
KZ=######,@##@#@#
PY=######,####
EG=#####,#######
SO=@@ #####
`

// beforeCode are words before a postal code that are no part of it.
var beforeCode = strings.Fields("zip zipcode postal postcode code plz cp c.p cap cep pin pincode pc código codigo psč kod index")

// plates are letters that Europeans write before a postal code, beside the country's code of ISO 3166.
var plates = map[string]string{"DE": "D", "AT": "A", "FR": "F", "BE": "B", "IT": "I", "ES": "E", "SE": "S", "NO": "N", "LU": "L", "FI": "FIN", "PT": "P", "HU": "H", "SI": "SLO", "LI": "FL"}

// statesOfAustralia are before a postal code as those of the USA do.
var statesOfAustralia = strings.Fields("ACT NSW NT QLD SA TAS VIC WA")

// zipCountries have the ZIP codes of the US Postal Service.
var zipCountries = strings.Fields("US PR GU VI AS MP UM FM MH PW")

func usesZIP(country string) bool { return slices.Contains(zipCountries, country) }

// PostalCodeIn returns a postal code of a country (ISO 3166) in the form that is written there, or "": see PostalCode for those of the USA. Signs
// within it may lack ("SW1A1AA"), and a label or the country may be before it ("PLZ 80331", "D-80331"). Where it has letters and
// digits it may be before or behind words ("London SW1A 1AA"); one of digits alone where the text names the city as the country writes
// it ("80331 München"), see SplitLocality.
func PostalCodeIn(s, country string) string {
	if usesZIP(country) {
		return PostalCode(s)
	}
	forms := postalForms(country)
	s, ok := plain(TrimPlace(s))
	if forms == "" || !ok || len(s) > maxZIP {
		return ""
	}
	words := strings.Fields(strings.TrimPrefix(s, "〒"))
	if code := wholeCode(strings.Join(afterLabel(words, country), " "), forms, country); code != "" {
		return code
	}
	if code := codeBesideWords(words, forms); code != "" {
		return code
	}
	_, _, code := SplitLocality(s, country)
	return code
}

// PostalForms returns the forms of the postal codes of a country, as they are written there: # is a digit, @ a letter, * one of
// both, anything else stands for itself; none where it has no postal codes. Those of the USA are ##### and #####-####.
func PostalForms(country string) []string {
	if usesZIP(country) {
		return []string{"#####", "#####-####"}
	}
	forms := strings.ReplaceAll(postalForms(country), "~", "")
	if forms == "" {
		return nil
	}
	return strings.Split(forms, ",")
}

// postalForms returns the forms of the postal codes of a country; "" = it has none.
func postalForms(country string) string {
	for line := range strings.Lines(postalCodes) {
		countries, forms, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		for i := 0; i < len(countries); i += 3 {
			if countries[i:i+2] == country {
				return forms
			}
		}
	}
	return ""
}

// afterLabel returns the words behind a label, or a state of Australia.
func afterLabel(words []string, country string) []string {
	for len(words) > 1 {
		word := strings.Trim(words[0], ".:-")
		if !slices.Contains(beforeCode, strings.ToLower(word)) && (country != "AU" || !slices.Contains(statesOfAustralia, word)) {
			break
		}
		words = words[1:]
	}
	return words
}

// wholeCode returns a postal code that is all of a text, but for the letters of its country before a hyphen ("D-80331", "SE-111 22").
func wholeCode(s, forms, country string) string {
	s = strings.ToUpper(s)
	if code := inForm(s, forms); code != "" {
		return code
	}
	letters, rest, ok := strings.Cut(s, "-")
	if ok && (letters == country || letters == plates[country]) {
		return inForm(rest, forms)
	}
	return ""
}

// codeBesideWords returns a postal code of letters and digits with which a text of other words, all without digits, begins or ends.
func codeBesideWords(words []string, forms string) string {
	for _, n := range [...]int{2, 1} {
		if len(words) <= n {
			continue
		}
		for _, at := range [...]int{len(words) - n, 0} {
			code := strings.Trim(strings.Join(words[at:at+n], " "), ",")
			others := strings.Join(words[:at], "") + strings.Join(words[at+n:], "")
			if strings.ToUpper(code) != code || AllDigits(strings.Trim(code, " -")) || strings.ContainsAny(others, "0123456789") {
				continue
			}
			if code = inForm(code, forms); strings.ContainsFunc(code, unicode.IsLetter) {
				return code
			}
		}
	}
	return ""
}

// inForm returns a postal code as the first of the forms that it has writes it. Zeros alone fill a field.
func inForm(s, forms string) string {
	if strings.Trim(s, "0- ") == "" {
		return ""
	}
	for form := range strings.SplitSeq(forms, ",") {
		if code, ok := writeAs(s, form); ok {
			return code
		}
	}
	return ""
}

// writeAs writes a code in a form, see postalCodes.
func writeAs(s, form string) (code string, ok bool) {
	var b []byte
	for _, f := range []byte(form) {
		switch {
		case f == ' ' || f == '-':
			s = afterSign(s)
			b = append(b, f)
			continue
		case f == '~':
			s = afterSign(s)
			continue
		case s == "" || !fits(s[0], f):
			return "", false
		}
		b, s = append(b, s[0]), s[1:]
	}
	return string(b), s == ""
}

// afterSign returns what follows a blank or a hyphen, if there is one.
func afterSign(s string) string {
	if s != "" && (s[0] == ' ' || s[0] == '-') {
		return s[1:]
	}
	return s
}

// fits reports whether a byte is one that a letter of a form is for.
func fits(c, form byte) bool {
	letter := 'A' <= c && c <= 'Z'
	switch form {
	case '#':
		return isDigit(c)
	case '@':
		return letter
	case '*':
		return isDigit(c) || letter
	}
	return c == form
}
