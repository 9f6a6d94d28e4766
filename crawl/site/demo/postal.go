package demo

import "strings"

// postal holds, per state, the range of its ZIP prefixes and some of its area
// codes, so that made-up addresses and numbers look right and keep their
// leading zeros. Numbers use the exchange 555, which belongs to nobody.
const postal = `AK 995-999 907|AL 350-369 205 251 334|AR 716-729 479 501 870|AZ 850-865 480 520 602|CA 900-961 213 310 415 619 916|CO 800-816 303 719 970|
CT 060-069 203 860|DC 200-205 202|DE 197-199 302|FL 320-349 305 407 813 904|GA 300-319 404 706 912|HI 967-968 808|IA 500-528 319 515 641|ID 832-838 208|
IL 600-629 217 312 618 847|IN 460-479 219 317 812|KS 660-679 316 620 785|KY 400-427 270 502 606|LA 700-714 225 318 504|MA 010-027 413 508 617|
MD 206-219 301 410|ME 039-049 207|MI 480-499 231 313 517 616|MN 550-567 218 507 612|MO 630-658 314 417 816|MS 386-397 228 601 662|MT 590-599 406|
NC 270-289 252 336 704 919|ND 580-588 701|NE 680-693 308 402|NH 030-038 603|NJ 070-089 201 609 732|NM 870-884 505 575|NV 889-898 702 775|
NY 100-149 212 315 518 716|OH 430-459 216 419 513 614|OK 730-749 405 580 918|OR 970-979 503 541|PA 150-196 215 412 570 717|RI 028-029 401|
SC 290-299 803 843 864|SD 570-577 605|TN 370-385 423 615 731 901|TX 750-799 210 214 512 713 806 915|UT 840-847 435 801|VA 220-246 276 540 703 804|
VT 050-059 802|WA 980-994 206 360 509|WI 530-549 262 414 608 715|WV 247-268 304|WY 820-831 307`

type zone struct {
	zip, zips int      // first ZIP prefix and how many
	area      []string // area codes
}

func zones() map[string]zone {
	byState := make(map[string]zone)
	for entry := range strings.SplitSeq(postal, "|") {
		f := strings.Fields(entry)
		first, last := number(f[1][:3]), number(f[1][4:])
		byState[f[0]] = zone{zip: first, zips: last - first + 1, area: f[2:]}
	}
	return byState
}

// number reads a decimal number; -1 when s is none.
func number(s string) int {
	if s == "" || len(s) > 12 {
		return -1
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
