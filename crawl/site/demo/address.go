package demo

import "strconv"

// address is where a business is, in one of the forms that cards show. Street
// and postal code stand together or not at all.
type address struct {
	kind   addressKind
	street string // as written, double spaces included
	city   string
	state  string
	zip    string
	area   string // "Serving the Austin Area": no address at all
}

type addressKind uint8

const (
	addressNone   addressKind = iota
	addressFull               // 12 Main St / Austin, TX 78701
	addressZip4               // 12 Main St / Austin, TX 78701-1234
	addressNoZip              // Austin, TX
	addressCity               // Austin
	addressServes             // Serving the Austin Area
)

func (b *business) inventAddress() address {
	home := b.home
	a := address{kind: addressFull, city: home.Name, state: home.State}
	switch r := b.dice.pct(tagAddress); {
	case r < 78:
	case r < 86:
		a.kind = addressZip4
	case r < 91:
		return address{kind: addressNoZip, city: home.Name, state: home.State}
	case r < 94:
		return address{kind: addressCity, city: home.Name}
	default:
		return address{kind: addressServes, area: "Serving the " + home.Name + " Area"}
	}
	a.street, a.zip = b.inventStreet(), b.inventZip()
	if a.kind == addressZip4 {
		a.zip += "-" + pad(b.dice.pick(tagZip4, 10_000), 4)
	}
	return a
}

func (b *business) inventStreet() string {
	d, gap := b.dice, " "
	if d.pct(tagSpaces) < 8 {
		gap = "  "
	}
	s := strconv.Itoa(1+d.pick(tagStreet, 9900)) + gap + d.word(tagStreet1, directions) + d.word(tagStreet2, streetNames) + " " + d.word(tagStreet3, streetTypes)
	if d.pct(tagStreet4) < 20 {
		s += []string{" Ste ", " # ", ", Unit ", " Bldg B Fl ", " Apt "}[d.pick(tagStreet4+100, 5)] + strconv.Itoa(1+d.pick(tagStreet4+200, 400))
	}
	return s
}

// inventZip gives every city a few postal codes of its state.
func (b *business) inventZip() string {
	z := b.home.zone
	prefix := z.zip + b.home.index%z.zips
	return pad(prefix, 3) + pad((b.home.index*7+b.dice.pick(tagZip, 5))%100, 2)
}

// locality is the second line of the address.
func (a *address) locality() string {
	switch a.kind {
	case addressFull, addressZip4:
		return a.city + ", " + a.state + " " + a.zip
	case addressNoZip:
		return a.city + ", " + a.state
	case addressCity:
		return a.city
	}
	return ""
}

// oneLine is the form that ads use.
func (a *address) oneLine() string {
	if a.street == "" {
		return a.area
	}
	return a.street + ", " + a.locality()
}
