// Package structured reads what pages say of businesses in forms made for machines: JSON-LD and microdata.
//
// Purpose: Reader.Read turns a page into records, one for each thing that a form calls a business.
// The same reader serves pages of results, pages of one business, and pages of which the JSON-LD only adds to what their cards say.
//
// Invariants: the package knows no source: whether an address is the directory's own, which records are of one
// business, and which of them is meant, its caller decides. Texts are clean and at most 4 kB long; they may share
// the memory of the page. What a page can make the reader do is bounded: its scripts, items, values and nesting,
// and the businesses that are returned. A script that is no JSON is read as far as comments, marks around it,
// commas too many, line breaks in texts, and numbers, words and escapes that JSON does not know account for that;
// one that is damaged otherwise is passed over, and spoils no other.
//
// Crash: nothing here has state or does I/O.
//
// Imports: crawl/site/region, yp and yp/weburl; golang.org/x/net.
//
// Tests: tables here for what JSON is, with a fuzz target against encoding/json; the golden pages of crawl/site
// for the rest.
package structured

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// The forms of structured data.
const (
	JSONLD    = "jsonld"
	Microdata = "microdata"
)

// Forms are the forms in the order in which they are read: what the
// first says of a business wins over the next.
var Forms = []string{JSONLD, Microdata}

// MaxBusinesses bounds the records of a page.
const MaxBusinesses = 1000

// A Reader says what is read. The zero Reader reads all forms.
type Reader struct {
	Forms []string // left out = all
	Types []string // types of schema.org that are businesses, beside those that always are
	Areas []string // how a text begins, in any letter case, that tells the area which is served instead of an address

	Noscript bool // microdata in noscript counts, too

	Country string    // of the source, see yp.E164; "" = yp.DefaultCountry
	Best    float64   // the end of the scale of ratings that name none; 0 = 5 (https://schema.org/bestRating)
	Day     time.Time // on which hours for some dates must hold; zero = none of them counts

	State, PostalCode func(text string) string // read one of the source; nil = as its country has it
}

// Business is what one form says of one business. What its methods return is read when it is asked for. "" and 0
// mean that the page does not say; the zero Business says nothing.
type Business struct {
	Form string
	Name string
	Rank int    // place in a list, from 1
	URL  string // the first that it names as its own

	listURL string // that a list has for it
	reader  *Reader
	graph   *graph
	item    item
}

// Read returns the businesses of a page, form by form, in the order of the page. scripts are those
// of its JSON-LD. leftOut is how many more there are than are returned.
func (r *Reader) Read(doc *html.Node, scripts []string) (found []Business, leftOut int) {
	w := walker{Reader: r}
	for _, form := range Forms {
		if len(r.Forms) > 0 && !slices.Contains(r.Forms, form) {
			continue
		}
		w.form, w.graph, w.seen = form, &graph{noscript: r.Noscript}, map[*item]bool{}
		switch form {
		case JSONLD:
			for _, script := range scripts[:min(len(scripts), maxScripts)] {
				w.graph.addScript(script)
			}
		case Microdata:
			w.graph.addMicrodata(doc, nil)
		}
		for _, p := range w.graph.top.props {
			w.value(p.value, entry{}, 0)
		}
	}
	return w.found, w.leftOut
}

// ReadScripts returns the businesses of JSON-LD scripts.
func ReadScripts(scripts []string) []Business { return (&Reader{}).Scripts(scripts) }

// Scripts returns the businesses of JSON-LD scripts.
func (r *Reader) Scripts(scripts []string) []Business {
	only := *r
	only.Forms = []string{JSONLD}
	found, _ := only.Read(nil, scripts)
	return found
}

// country returns where the numbers and addresses of a page are.
func (b *Business) country() string {
	if b.reader == nil {
		return yp.DefaultCountry
	}
	return cmp.Or(b.reader.Country, yp.DefaultCountry)
}

// stateOf reads a state as the reader says, else by the states of the country.
func (b *Business) stateOf(text string) string {
	if b.reader != nil && b.reader.State != nil {
		return b.reader.State(text)
	}
	return yp.StatesOf(b.country()).Read(text)
}

// postalCode reads a postal code as the reader says, else by the forms of the country.
func (b *Business) postalCode(text string) string {
	if b.reader != nil && b.reader.PostalCode != nil {
		return b.reader.PostalCode(text)
	}
	return yp.PostalCodeIn(text, b.country())
}

// Merge gives a business the properties that it lacks and another one of the same page has. One that says much
// lacks none: a page may repeat it a thousand times.
func (b *Business) Merge(other *Business) {
	if len(b.item.props) > maxMerged {
		return
	}
	b.Name = cmp.Or(b.Name, other.Name)
	has := map[string]bool{}
	for _, p := range b.item.props {
		has[p.name] = true
	}
	b.item.props = slices.Clip(b.item.props)
	for _, p := range other.item.props {
		if !has[p.name] && len(b.item.props) < maxValues {
			b.item.props = append(b.item.props, p)
		}
	}
}

// walker goes through the graph of one form after the other.
type walker struct {
	*Reader
	form    string
	graph   *graph
	seen    map[*item]bool
	found   []Business
	leftOut int
}

// entry is what an ItemList says of the thing in it.
type entry struct {
	rank int
	url  string
	name string
}

// containers are the properties through which a page leads to its businesses.
var containers = [...]string{"@graph", "mainEntity", "itemListElement", "about", "hasPart"}

func (w *walker) value(v value, at entry, depth int) {
	it := w.graph.resolve(v).item
	if it == nil || depth > maxNesting || w.seen[it] { // a text, or what was read before
		return
	}
	w.seen[it] = true
	w.item(it, at, depth)
}

func (w *walker) item(it *item, at entry, depth int) {
	g := w.graph
	switch {
	case it.is("BreadcrumbList", "SiteNavigationElement"):
	case it.is("ListItem"), len(it.types) == 0 && it.has("item"):
		w.listItem(it, depth)
	case w.isBusiness(it):
		w.add(Business{
			Name: cmp.Or(g.text(it, "name", "legalName", "alternateName"), at.name), Rank: at.rank, URL: g.address(it, "url"),
			listURL: at.url, item: *it,
		})
	default:
		w.contents(it, depth)
	}
}

// contents follows what holds businesses in something that is none: the containers of any thing, and the values of a
// property that is named as a business ("localBusiness", "restaurants"), whose type that is where they have
// none. A thing without a type is a wrapper that the site made up: everything in it is followed but what has to do with
// a business without being on the list.
func (w *walker) contents(it *item, depth int) {
	wrapper := len(it.types) == 0 && depth < maxWrappers
	for _, p := range it.props {
		inner := w.graph.resolve(p.value).item
		if inner == nil || slices.Contains(containers[:], p.name) {
			continue
		}
		if t := typeNamed(p.name); t != "" {
			if len(inner.types) == 0 && inner.has("name") {
				inner.types = []string{t}
			}
			w.value(p.value, entry{}, depth+1)
		} else if wrapper && !besides[strings.ToLower(p.name)] {
			w.value(p.value, entry{}, depth+1)
		}
	}
	for _, name := range containers {
		for _, p := range it.props {
			if p.name == name {
				w.value(p.value, entry{}, depth+1)
			}
		}
	}
}

// maxWrappers bounds how deep wrappers are in each other.
const maxWrappers = 6

// besides are properties, in lower case, that hold businesses which are none of a list: who wrote or made something, or belongs to it.
var besides = wordSet(`
publisher author creator provider seller brand parentorganization suborganization memberof member sponsor funder owner
broker manufacturer affiliation worksfor employee founder itemreviewed review reviews location address containedin containedinplace
department branchof copyrightholder sourceorganization maintainer
`)

// typeNamed returns the type of business that a property is named for, as one or many: "localBusiness", "hotels"; "" = none.
func typeNamed(property string) string {
	if len(property) < 4 || len(property) > maxProperty || !('a' <= property[0]|0x20 && property[0]|0x20 <= 'z') {
		return ""
	}
	t := string(property[0]&^0x20) + property[1:]
	for _, end := range [...]string{"", "es", "s"} {
		one, ok := strings.CutSuffix(t, end)
		if ok && isLocal(one) && one != "Emergency" && one != "Library" {
			return one
		}
	}
	return ""
}

// listItem follows a ListItem to its item.
func (w *walker) listItem(it *item, depth int) {
	g := w.graph
	at := entry{url: cmp.Or(g.address(it, "url"), addressText(it.id)), name: g.text(it, "name")}
	at.rank, _ = yp.FirstInt(g.text(it, "position"))
	for _, p := range it.props {
		if p.name == "item" {
			w.value(p.value, at, depth+1)
		}
	}
}

func (w *walker) add(b Business) {
	if len(w.found) >= MaxBusinesses {
		w.leftOut++
		return
	}
	if w.found == nil {
		w.found = make([]Business, 0, 32)
	}
	b.Form, b.reader, b.graph = w.form, w.Reader, w.graph
	w.found = append(w.found, b)
}

// isBusiness reports whether an item is a business: by its type, or, for types
// that say less and those that nobody knows, by an address or a telephone.
func (w *walker) isBusiness(it *item) bool {
	other := false
	for _, t := range it.types {
		if slices.Contains(w.Types, t) || isLocal(t) {
			return true
		}
		other = other || otherTypes[t]
	}
	if len(it.types) == 0 || other {
		return false
	}
	return it.has("address", "telephone", "phone", "streetAddress", "addressLocality")
}

func isLocal(t string) bool {
	if localBusinesses[t] || addressedTypes[t] || otherTypes[t] {
		return localBusinesses[t]
	}
	return slices.ContainsFunc(businessEndings, func(end string) bool {
		return strings.HasSuffix(t, end) && len(t) > len(end)
	})
}

// localBusinesses are schema.org's subtypes of LocalBusiness
// (https://schema.org/LocalBusiness, "More specific Types", all levels) that
// do not end in one of businessEndings.
var localBusinesses = wordSet(`
LocalBusiness AccountingService AdultEntertainment AmusementPark AnimalShelter ArchiveOrganization ArtGallery
Attorney AutoBodyShop AutoDealer AutoRental AutoRepair AutoWash AutomatedTeller BankOrCreditUnion BarOrPub
BeautySalon BedAndBreakfast BowlingAlley Brewery CafeOrCoffeeShop Campground Casino ChildCare ComedyClub
CommunityHealth CovidTestingFacility DaySpa Dentist Dermatology DietNutrition Distillery DryCleaningOrLaundry
Electrician EmploymentAgency Emergency ExerciseGym FastFoodRestaurant FireStation Florist GasStation
GeneralContractor Geriatric GolfCourse Gynecologic HairSalon HealthClub Hospital Hostel Hotel HousePainter
HVACBusiness IceCreamShop InsuranceAgency InternetCafe Library Locksmith MedicalClinic Midwifery Motel
MotorcycleDealer MotorcycleRepair MovieRental MovieTheater MovingCompany NailSalon NightClub Notary Nursing
Obstetric Oncologic Optician Optometric Otolaryngologic Pediatric Pharmacy Physician PhysiciansOffice Physiotherapy
PlasticSurgery Plumber Podiatric PoliceStation PostOffice PrimaryCare PublicHealth PublicSwimmingPool RadioStation
RealEstateAgent RecyclingCenter Resort RoofingContractor SelfStorage ShoppingCenter SkiResort StadiumOrArena
TattooParlor TelevisionStation TennisComplex TouristInformationCenter TravelAgency VacationRental VeterinaryCare
Winery Bakery Restaurant Store FinancialService EmergencyService LegalService ProfessionalService GovernmentOffice
FoodEstablishment SportsActivityLocation SportsClub LodgingBusiness
`)

// businessEndings end the names of the other subtypes, and of those that sites
// make up: BookStore, MedicalBusiness, PizzaRestaurant.
var businessEndings = []string{"Store", "Shop", "Business", "Restaurant", "Clinic", "Contractor", "Dealer", "Salon"}

// addressedTypes are businesses when they have an address or a telephone:
// an Organization is as often the directory itself or a brand.
var addressedTypes = wordSet(`
Organization Corporation OnlineBusiness OnlineStore NGO MedicalOrganization EducationalOrganization School
GovernmentOrganization SportsOrganization PerformingGroup Place CivicStructure Service
`)

// otherTypes are things that are beside listings and have addresses or
// telephones of their own without being businesses.
var otherTypes = wordSet(`
BreadcrumbList ItemList ListItem OfferCatalog WebSite WebPage SearchResultsPage CollectionPage ItemPage ContactPage
AboutPage FAQPage Question Answer PostalAddress ContactPoint GeoCoordinates Person Review Rating AggregateRating
Offer Event Product JobPosting Article NewsArticle BlogPosting SearchAction ImageObject VideoObject
OpeningHoursSpecification Country State City AdministrativeArea SiteNavigationElement WPHeader WPFooter Residence
Apartment House SingleFamilyResidence Accommodation RealEstateListing
`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
