package yp

import (
	"fmt"
	"slices"
	"strings"
)

// DefaultCountry is the country of a source that names none.
const DefaultCountry = "US"

// countries are the codes of ISO 3166-1 alpha-2 that are officially assigned.
var countries = strings.Fields(`
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD
CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF
GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN
KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA
NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI
SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI
VN VU WF WS YE YT ZA ZM ZW`)

// otherCodes are what people write in place of a code.
var otherCodes = map[string]string{
	"UK": "GB", "EN": "GB", "USA": "US", "GER": "DE", "EL": "GR", "ENGLAND": "GB",
	"GERMANY": "DE", "SPAIN": "ES", "AUSTRIA": "AT", "SWITZERLAND": "CH",
}

// ParseCountry returns the code of a country that a definition names; "" is DefaultCountry.
func ParseCountry(s string) (code string, err error) {
	if s == "" {
		return DefaultCountry, nil
	}
	if slices.Contains(countries, s) {
		return s, nil
	}
	near := strings.ToUpper(strings.TrimSpace(s))
	if code, ok := otherCodes[near]; ok {
		near = code
	}
	if slices.Contains(countries, near) {
		return "", fmt.Errorf("unknown country %q: did you mean %q?", s, near)
	}
	return "", fmt.Errorf("unknown country %q: want the two capital letters of ISO 3166, such as US, CA or DE", s)
}

// nanp are the countries and territories of the North American Numbering Plan (https://nationalnanpa.com).
var nanp = strings.Fields("US CA AG AI AS BB BM BS DM DO GD GU JM KN KY LC MP MS PR SX TC TT UM VC VG VI")

// InNANP reports whether the phones of a country are of the North American Numbering Plan.
func InNANP(country string) bool { return country == DefaultCountry || slices.Contains(nanp, country) }

// dialledAbroad returns what is dialled in a country before the country code of another one; "" where it is not one prefix:
// there callers choose a carrier (https://www.itu.int/oth/T0202.aspx).
func dialledAbroad(country string) string {
	if InNANP(country) {
		return "011"
	}
	if prefix, other := prefixes[country]; other {
		return prefix
	}
	return "00"
}

// prefixes are those of the countries where it is not 00.
var prefixes = map[string]string{
	"AU": "0011", "CC": "0011", "CX": "0011", "BY": "810", "KZ": "810", "RU": "810", "TJ": "810", "TM": "810", "CU": "119", "GY": "001",
	"JP": "010", "KE": "000", "KH": "001", "MH": "011", "MN": "001", "NG": "009", "PW": "011", "TH": "001", "TW": "002",
	"TZ": "000", "UG": "000", "BO": "", "BR": "", "CL": "", "CO": "", "CV": "", "HK": "", "ID": "", "KR": "", "SG": "", "WS": "",
}

// keepsZero has the country codes behind which numbers begin with a zero that is part of them: Italy and San Marino,
// Ivory Coast, Benin, Gabon and Congo. Elsewhere it is dialled within the country alone.
var keepsZero = map[string]bool{"39": true, "378": true, "225": true, "229": true, "241": true, "242": true}

// callingCodes are the country codes that are assigned (ITU-T E.164, Annex), but for 1.
var callingCodes = strings.Fields(`
7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98
211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 247
248 249 250 251 252 253 254 255 256 257 258 260 261 262 263 264 265 266 267 268 269 290 291 297 298 299 350 351 352 353 354 355 356
357 358 359 370 371 372 373 374 375 376 377 378 380 381 382 383 385 386 387 389 420 421 423 500 501 502 503 504 505 506 507 508 509
590 591 592 593 594 595 596 597 598 599 670 672 673 674 675 676 677 678 679 680 681 682 683 685 686 687 688 689 690 691 692 800 808
850 852 853 855 856 870 878 880 881 882 883 886 888 960 961 962 963 964 965 966 967 968 970 971 972 973 974 975 976 977 979 992 993
994 995 996 998`)

// countryCode returns the country code with which a text begins, up to a sign between its digits; "" = none that is
// assigned. No code is the beginning of another one.
func countryCode(s string) string {
	n := min(digitsAt(s), 3)
	for _, code := range callingCodes {
		if len(code) <= n && s[:len(code)] == code {
			return code
		}
	}
	return ""
}
