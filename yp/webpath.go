package yp

import "strings"

// appendRest appends the canonical form of what follows the authority: path
// and query, without fragment.
func appendRest(dst []byte, s string) []byte {
	if s == "" || s == "/" {
		return dst
	}
	s, _, _ = strings.Cut(s, "#")
	path, query, _ := strings.Cut(s, "?")
	if path != "" {
		dst = appendPath(dst, path)
	}
	return appendQuery(dst, query)
}

// appendPath appends path, which starts with a slash or backslash, encoded,
// with dot segments resolved and without trailing slashes. Empty segments
// inside are kept: they may mean something to the server.
func appendPath(dst []byte, path string) []byte {
	start := len(dst)
	for i := 0; i < len(path); {
		end := i + 1
		for end < len(path) && !isSlash(path[end]) {
			end++
		}
		switch segment := path[i+1 : end]; segment {
		case ".":
		case "..":
			for len(dst) > start && dst[len(dst)-1] != '/' {
				dst = dst[:len(dst)-1]
			}
			if len(dst) > start {
				dst = dst[:len(dst)-1]
			}
		default:
			dst = append(dst, '/')
			dst = appendEncoded(dst, segment)
		}
		i = end
	}
	for len(dst) > start && dst[len(dst)-1] == '/' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// appendQuery appends the parameters of query that say what is shown, in their
// order, with their question mark.
func appendQuery(dst []byte, query string) []byte {
	mark := byte('?')
	for query != "" {
		var param string
		param, query, _ = strings.Cut(query, "&")
		key, _, _ := strings.Cut(param, "=")
		if param == "" || trackingParam(key) {
			continue
		}
		dst = append(dst, mark)
		dst = appendEncoded(dst, param)
		mark = '&'
	}
	return dst
}

// appendEncoded appends s with every byte percent-encoded that a path or query
// may not hold (RFC 3986, with the brackets and bars that browsers send left
// alone), and a percent sign that starts no escape. Escapes stay as they are.
func appendEncoded(dst []byte, s string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if plainByte(c) || c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', digits[c>>4], digits[c&15])
	}
	return dst
}

func plainByte(c byte) bool {
	if c <= ' ' || c >= 0x7f {
		return false
	}
	switch c {
	case '"', '#', '%', '<', '>', '\\', '^', '`', '{', '}':
		return false
	}
	return true
}

// trackingParam reports whether a query parameter says only where the visitor
// came from, so that the page is the same without it:
//
//   - any that begins with utm_, mtm_, pk_, piwik_, matomo_ (analytics), hsa_,
//     _hs (HubSpot), mc_ (Mailchimp), fb_ (Facebook), gad_ (Google Ads), trk_, wt.mc_
//   - click identifiers of ad networks: gclid, gclsrc, dclid, gbraid, wbraid,
//     fbclid, msclkid, twclid, ttclid, li_fat_id, yclid, ysclid, igshid, igsh,
//     epik, sccid, rdt_cid, srsltid, irclickid, rb_clickid, wickedid
//   - of analytics and mail programs: _ga, _gl, _ke, _kx, vero_id, vero_conv,
//     oly_anon_id, oly_enc_id, mkt_tok, hsctatracking, _openstat, s_cid, dm_i,
//     elqtrackid, y_source (Yext, on many directory links)
func trackingParam(key string) bool {
	if len(key) < 3 || len(key) > 40 {
		return false
	}
	var buf [40]byte
	lower := buf[:len(key)]
	for i := range len(key) {
		c := key[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return trackingPrefix(string(lower)) || trackingName(string(lower))
}

func trackingPrefix(key string) bool {
	switch key[0] {
	case 'u':
		return strings.HasPrefix(key, "utm_")
	case 'm':
		return strings.HasPrefix(key, "mc_") || strings.HasPrefix(key, "mtm_") || strings.HasPrefix(key, "matomo_")
	case 'p':
		return strings.HasPrefix(key, "pk_") || strings.HasPrefix(key, "piwik_")
	case 'h':
		return strings.HasPrefix(key, "hsa_")
	case '_':
		return strings.HasPrefix(key, "_hs") || strings.HasPrefix(key, "__hs")
	case 'f':
		return strings.HasPrefix(key, "fb_")
	case 'g':
		return strings.HasPrefix(key, "gad_")
	case 't':
		return strings.HasPrefix(key, "trk_")
	case 'w':
		return strings.HasPrefix(key, "wt.mc_")
	}
	return false
}

func trackingName(key string) bool {
	switch key {
	case "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "twclid", "ttclid",
		"li_fat_id", "yclid", "ysclid", "igshid", "igsh", "epik", "sccid", "rdt_cid", "srsltid",
		"irclickid", "rb_clickid", "wickedid",
		"_ga", "_gl", "_ke", "_kx", "vero_id", "vero_conv", "oly_anon_id", "oly_enc_id", "mkt_tok",
		"hsctatracking", "_openstat", "s_cid", "dm_i", "elqtrackid", "y_source":
		return true
	}
	return false
}
