package discover

import (
	"fmt"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// DefaultCategories is what a crawl searches for unless it is told otherwise:
// ten trades that nearly every place has.
func DefaultCategories() []string {
	return []string{
		"Plumbers", "Electricians", "Restaurants", "Dentists", "Auto Repair & Service",
		"Attorneys", "Roofing Contractors", "Beauty Salons", "Real Estate Agents", "Veterinarians",
	}
}

// known are the categories that are taken without asking. Others are taken
// with Selection.AnyCategory: a directory has thousands.
var known = [...]string{
	"Accountants-Certified Public", "Air Conditioning Contractors & Systems", "Animal Hospitals", "Antiques",
	"Apartments", "Appliances-Major-Dealers", "Architects", "Art Galleries", "Assisted Living Facilities",
	"Attorneys", "Auto Body Repairing & Painting", "Auto Insurance", "Auto Parts", "Auto Repair & Service",
	"Bail Bonds", "Bakeries", "Banks", "Barbers", "Bars", "Beauty Salons", "Bookkeeping", "Book Stores",
	"Breweries", "Business Coaches & Consultants", "Cabinet Makers", "Campgrounds", "Car Rental", "Car Wash",
	"Carpenters", "Carpet & Rug Cleaners", "Caterers", "Chiropractors", "Churches", "Clothing Stores",
	"Coffee Shops", "Computer Service & Repair", "Concrete Contractors", "Construction Companies",
	"Convenience Stores", "Counseling Services", "Day Care Centers", "Delicatessens", "Dentists", "Dermatologists",
	"Doctors", "Driving Schools", "Dry Cleaners", "Electricians", "Employment Agencies", "Event Planners",
	"Exterminators", "Family Law Attorneys", "Fence Contractors", "Financial Planners", "Fire Stations",
	"Fitness Centers", "Florists", "Flooring Contractors", "Funeral Homes", "Furniture Stores", "Garage Doors",
	"Gardeners", "Gas Stations", "General Contractors", "Gift Shops", "Glass Repair", "Golf Courses",
	"Grocery Stores", "Gymnasiums", "Hair Salons", "Handyman Services", "Hardware Stores", "Health Clubs",
	"Heating Contractors & Specialties", "Home Builders", "Home Health Services", "Home Improvements", "Hospitals",
	"Hotels", "House Cleaning", "Insurance", "Interior Designers", "Internet Service Providers", "Jewelers",
	"Landscape Contractors", "Laundromats", "Lawn Maintenance", "Libraries", "Limousine Service", "Liquor Stores",
	"Locksmiths", "Marketing Consultants", "Massage Therapists", "Medical Clinics", "Mobile Home Dealers",
	"Mortgages", "Motels", "Motorcycle Dealers", "Movers", "Museums", "Music Stores", "Nail Salons", "New Car Dealers",
	"Night Clubs", "Notaries Public", "Nurseries-Plants & Trees", "Nursing Homes", "Opticians", "Optometrists",
	"Orthodontists", "Painting Contractors", "Patio Builders", "Paving Contractors", "Pediatricians", "Pest Control",
	"Pet Grooming", "Pet Stores", "Pharmacies", "Photographers", "Physical Therapists", "Physicians & Surgeons",
	"Pizza", "Plumbers", "Printing Services", "Private Schools & Academies", "Property Management",
	"Psychologists", "Radiators Automotive Sales & Service", "Real Estate Agents", "Real Estate Management",
	"Recreation Centers", "Restaurants", "Roofing Contractors", "Schools", "Security Control Systems & Monitoring",
	"Self Storage", "Septic Tanks & Systems", "Shoe Stores", "Shopping Centers & Malls", "Sporting Goods",
	"Storage Household & Commercial", "Swimming Pool Contractors", "Tanning Salons", "Tattoos", "Tax Return Preparation",
	"Taxis", "Tire Dealers", "Towing", "Travel Agencies", "Tree Service", "Truck Rental", "Upholsterers",
	"Used Car Dealers", "Veterinarians", "Water Damage Restoration", "Web Site Design & Services", "Wedding Planning",
	"Window Cleaning", "Windows", "Wineries", "Yoga Instruction",
}

// KnownCategories lists the categories that are taken without asking, by name.
func KnownCategories() []string { return slices.Clone(known[:]) }

// resolveCategories finds each name among the allowed ones (the source's own
// list, else the known ones). With others, an unknown name is taken as it is typed.
func resolveCategories(names, own []string, others bool) ([]yp.Category, error) {
	if len(names) == 0 {
		names = own
	}
	if len(names) == 0 {
		names = DefaultCategories()
	}
	allowed := own
	if len(allowed) == 0 {
		allowed = known[:]
	}
	var out []yp.Category
	for _, name := range names {
		c, err := resolveCategory(strings.TrimSpace(name), allowed, others)
		if err != nil {
			return nil, err
		}
		same := func(had yp.Category) bool { return had.Slug == c.Slug }
		if !slices.ContainsFunc(out, same) {
			out = append(out, c)
		}
	}
	return out, nil
}

func resolveCategory(name string, allowed []string, others bool) (yp.Category, error) {
	slug := yp.CategorySlug(name)
	for _, k := range allowed {
		if s := yp.CategorySlug(k); s == slug && slug != "" {
			return yp.Category{Slug: s, Name: k}, nil
		}
	}
	if others && slug != "" {
		return yp.Category{Slug: slug, Name: name}, nil
	}
	hint := ": --any-category takes it as it is typed"
	if near, ok := yp.Nearest(name, allowed); ok {
		hint = fmt.Sprintf(": did you mean %q? (--any-category takes it as it is typed)", near)
	}
	return yp.Category{}, &UnknownError{What: "category", Name: name, Hint: hint}
}
