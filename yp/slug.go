package yp

// Slug returns s as directories put it in a path: lower case, accents folded,
// periods dropped, everything else that is no letter or digit a hyphen, no
// hyphen doubled or at an end: "Coeur d'Alene" → "coeur-d-alene".
func Slug(s string) string {
	var buf [64]byte
	b := AppendSlug(buf[:0], s)
	if string(b) == s {
		return s
	}
	return string(b)
}

// CitySlug returns the slug of a city with its state: "los-angeles-ca". A
// leading St, Ft or Mt is spelled out, as directories do: "saint-louis-mo".
func CitySlug(city, state string) string {
	var buf [64]byte
	return string(AppendCitySlug(buf[:0], city, state))
}

// CategorySlug returns the slug of a category: "Auto Repair & Service" →
// "auto-repair-service".
func CategorySlug(name string) string { return Slug(name) }

// AppendCitySlug appends CitySlug(city, state) to dst.
func AppendCitySlug(dst []byte, city, state string) []byte {
	start := len(dst)
	dst = AppendSlug(dst, city)
	if full := saintly(dst[start:]); full != "" {
		rest := string(dst[start+2:])
		dst = append(append(dst[:start], full...), rest...)
	}
	if len(dst) > start {
		dst = append(dst, '-')
	}
	return AppendSlug(dst, state)
}

// saintly returns what the abbreviation that begins a city's slug stands for.
func saintly(slug []byte) string {
	if len(slug) < 4 || slug[2] != '-' {
		return ""
	}
	switch string(slug[:2]) {
	case "st":
		return "saint"
	case "ft":
		return "fort"
	case "mt":
		return "mount"
	}
	return ""
}

// AppendSlug appends Slug(s) to dst.
func AppendSlug(dst []byte, s string) []byte {
	s = foldAccents(s)
	start, gap := len(dst), false
	for i := range len(s) {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case c == '.':
			continue
		default:
			gap = true
			continue
		}
		if gap && len(dst) > start {
			dst = append(dst, '-')
		}
		gap = false
		dst = append(dst, c)
	}
	return dst
}
