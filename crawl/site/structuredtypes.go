package site

import (
	"slices"
	"strings"
)

// localBusinesses are schema.org's subtypes of LocalBusiness
// (https://schema.org/LocalBusiness, "More specific Types", all levels) that
// do not end in one of businessEndings.
var localBusinesses = wordSet(`
LocalBusiness AccountingService AdultEntertainment AmusementPark AnimalShelter ArchiveOrganization ArtGallery Attorney AutoBodyShop
AutoDealer AutoRental AutoRepair AutoWash AutomatedTeller BankOrCreditUnion BarOrPub BeautySalon BedAndBreakfast BowlingAlley Brewery
CafeOrCoffeeShop Campground Casino ChildCare ComedyClub CommunityHealth CovidTestingFacility DaySpa Dentist Dermatology DietNutrition
Distillery DryCleaningOrLaundry Electrician EmploymentAgency Emergency ExerciseGym FastFoodRestaurant FireStation Florist GasStation
GeneralContractor Geriatric GolfCourse Gynecologic HairSalon HealthClub Hospital Hostel Hotel HousePainter HVACBusiness IceCreamShop
InsuranceAgency InternetCafe Library Locksmith MedicalClinic Midwifery Motel MotorcycleDealer MotorcycleRepair MovieRental MovieTheater
MovingCompany NailSalon NightClub Notary Nursing Obstetric Oncologic Optician Optometric Otolaryngologic Pediatric Pharmacy Physician
PhysiciansOffice Physiotherapy PlasticSurgery Plumber Podiatric PoliceStation PostOffice PrimaryCare PublicHealth PublicSwimmingPool
RadioStation RealEstateAgent RecyclingCenter Resort RoofingContractor SelfStorage ShoppingCenter SkiResort StadiumOrArena TattooParlor
TelevisionStation TennisComplex TouristInformationCenter TravelAgency VacationRental VeterinaryCare Winery Bakery Restaurant Store FinancialService
EmergencyService LegalService ProfessionalService GovernmentOffice FoodEstablishment SportsActivityLocation SportsClub LodgingBusiness
`)

// businessEndings end the names of the other subtypes, and of those that sites
// make up: BookStore, MedicalBusiness, PizzaRestaurant.
var businessEndings = []string{"Store", "Shop", "Business", "Restaurant", "Clinic", "Contractor", "Dealer", "Salon"}

// addressedTypes are businesses when they have an address or a telephone:
// an Organization is as often the directory itself or a brand.
var addressedTypes = wordSet(`
Organization Corporation OnlineBusiness OnlineStore NGO MedicalOrganization EducationalOrganization School GovernmentOrganization SportsOrganization
PerformingGroup Place CivicStructure Service hCard
`)

// otherTypes are things that stand beside listings and have addresses or
// telephones of their own without being businesses.
var otherTypes = wordSet(`
BreadcrumbList ItemList ListItem OfferCatalog WebSite WebPage SearchResultsPage CollectionPage ItemPage ContactPage AboutPage FAQPage Question Answer
PostalAddress ContactPoint GeoCoordinates Person Review Rating AggregateRating Offer Event Product JobPosting Article NewsArticle BlogPosting
SearchAction ImageObject VideoObject OpeningHoursSpecification Country State City AdministrativeArea SiteNavigationElement WPHeader WPFooter
Residence Apartment House SingleFamilyResidence Accommodation RealEstateListing
`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// isBusiness reports whether an item is a business: by its type, or, for types
// that say less and those that nobody knows, by an address or a telephone.
func (r *businessReader) isBusiness(g *graph, it *item) bool {
	other := false
	for _, t := range it.types {
		if slices.Contains(r.src.def.Structured.Types, t) || isLocal(t) {
			return true
		}
		other = other || otherTypes[t]
	}
	if len(it.types) == 0 || other {
		return false
	}
	if len(g.values(it, "address", "telephone", "phone", "streetAddress", "addressLocality")) > 0 {
		return true
	}
	return it.is(hCardType) && g.text(it, "url", linkProp) != ""
}

func isLocal(t string) bool {
	if localBusinesses[t] {
		return true
	}
	if addressedTypes[t] || otherTypes[t] {
		return false
	}
	for _, end := range businessEndings {
		if strings.HasSuffix(t, end) && len(t) > len(end) {
			return true
		}
	}
	return false
}
