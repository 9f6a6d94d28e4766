package demo

// A trade is one category of the directory and the words its businesses use.
type trade struct {
	name    string   // the category as shown
	words   []string // what businesses of the trade call their work
	labels  []string // further categories on their cards
	chains  []string // chains that have branches everywhere
	odd     []string // names that trip careless programs; Clean and escaping decide
	lines   []string // what they say of themselves
	pricey  bool     // cards may carry a price range
	sitHost string   // a host of their own kind shared by many
}

var trades = [...]trade{
	{
		name:    "Plumbers",
		words:   []string{"Plumbing", "Rooter", "Drain Service", "Pipe & Drain", "Plumbing & Heating", "Sewer Repair"},
		labels:  []string{"Water Heaters", "Plumbing-Drain & Sewer Cleaning", "Water Heater Repair", "Sewer Contractors", "Heating Contractors & Specialties", "Home Improvements"},
		chains:  []string{"Blue Wrench Plumbing", "Mr. Pipeline", "Roto-Ready Plumbing & Drain", "Ben's Franklin Plumbing"},
		odd:     []string{"Blocked Drain Doctors", "Cloudflare Rooter & Sewer", "CAPTCHA Cleaning", "Access Denied Leak Detection", "403 Pipe Forbidden Plumbing"},
		lines:   []string{"We fix leaks, drains & water heaters, day and night.", "Licensed and insured: free estimates on every job.", "No trip charge. Ask about our senior discount."},
		sitHost: "linktr.ee",
	},
	{
		name:    "Electricians",
		words:   []string{"Electric", "Electrical Contractors", "Wiring & Lighting", "Electrical Services", "Power & Light"},
		labels:  []string{"Electric Contractors-Commercial & Industrial", "Lighting Maintenance Service", "Generators", "Electric Equipment Repair & Service", "Solar Energy Equipment & Systems-Dealers"},
		chains:  []string{"Mister Amp", "Bright Sparks Electric", "Allied Current", "Watt's Up Electrical"},
		odd:     []string{"Robot Check Electric", "Human Verification Wiring", "Attention Required Electrical", "Error 503 Power & Light", "Banned Bulb Exchange"},
		lines:   []string{"Panel upgrades, rewiring & EV chargers.", "Master electricians since the days of knob-and-tube.", "Same-day service; we call before we come."},
		sitHost: "sites.google.com",
	},
	{
		name:    "Restaurants",
		words:   []string{"Grill", "Kitchen", "Diner", "Taqueria", "Pizza", "Bistro", "BBQ", "Noodle House", "Cafe"},
		labels:  []string{"American Restaurants", "Mexican Restaurants", "Pizza", "Take Out Restaurants", "Barbecue Restaurants", "Caterers", "Bars", "Coffee & Espresso Restaurants"},
		chains:  []string{"Burger Parade", "Taco Harbor", "Pizza Meridian", "The Pancake Post", "Noodle & Go"},
		odd:     []string{"Banned Books Cafe", "The Forbidden Noodle", "Unusual Traffic Sports Bar", "Robot or Human? Ramen", "Cookies Required Bakery & Cafe"},
		lines:   []string{"Family recipes, open late, dogs welcome.", "Best chili in town, three years running.", "Happy hour 3–6 pm; kids eat free on Tuesdays."},
		pricey:  true,
		sitHost: "facebook.com",
	},
	{
		name:    "Dentists",
		words:   []string{"Dental", "Family Dentistry", "Dental Care", "Orthodontics", "Smiles", "Dental Group"},
		labels:  []string{"Cosmetic Dentistry", "Orthodontists", "Dental Hygienists", "Implant Dentistry", "Oral & Maxillofacial Surgery", "Pediatric Dentistry"},
		chains:  []string{"Aspenglow Dental", "Smile Junction", "Western Molar", "Gentle Crown Dentistry"},
		odd:     []string{"Blocked Canal Endodontics", "Captcha Smile Dentistry", "Wall of Fire Dental", "Denied & Sons Dental Plans", "Ray ID Dental Imaging"},
		lines:   []string{"New patients welcome; most insurance taken.", "Gentle care for children & grown-ups.", "Implants, crowns & whitening under one roof."},
		sitHost: "instagram.com",
	},
	{
		name:    "Auto Repair & Service",
		words:   []string{"Auto Repair", "Automotive", "Transmission", "Tire & Brake", "Auto Service", "Motors", "Body Shop"},
		labels:  []string{"Automobile Parts & Supplies", "Brake Repair", "Auto Oil & Lube", "Tire Dealers", "Automobile Inspection Stations & Services", "Towing", "Auto Transmission"},
		chains:  []string{"Midway Muffler", "Jiffy Loop", "Tire Republic", "Peppy Boys Auto", "Precision Torque"},
		odd:     []string{"Traffic Blocked Towing", "Checking Your Brakes Auto", "DDoS Diesel Service", "Too Many Requests Limo Repair", "Security Check Auto Glass"},
		lines:   []string{"ASE-certified mechanics; foreign & domestic.", "Honest work, fair prices, free shuttle.", "Brakes, tires & alignments while you wait."},
		sitHost: "yelp.com",
	},
}

var (
	surnames = []string{
		"Garcia", "Miller", "Nguyen", "Johnson", "Kowalski", "Patel", "O'Brien", "Hernandez", "Lee", "Schmidt", "Washington", "Rossi",
		"Martinez", "Kim", "Anderson", "Van Dyke", "Jackson", "Tanaka", "McAllister", "Cohen", "Silva", "Baker", "Ivanov", "Flores", "Chen",
		"Thompson", "D'Angelo", "Walker", "Begay", "Larsen", "Haddad", "Okafor", "Brooks", "Delgado", "Fitzgerald", "Moreau", "Singh", "Young",
	}
	firsts     = []string{"Joe", "Maria", "Tony", "Linda", "Ray", "Susie", "Big Al", "Carlos", "Dee", "Frank", "Gus", "Hank"}
	adjectives = []string{
		"Reliable", "Sunshine", "All American", "Golden State", "Lone Star", "Premier", "Affordable", "Classic", "Twin Oaks", "Riverside",
		"Summit", "Blue Sky", "First Choice", "Eagle", "Liberty", "Pioneer", "Express", "Hometown", "Quality", "Evergreen",
	}
	accented = []string{"Peña", "Núñez Hermanos", "Zoë's", "Müller & Söhne", "Château", "José García", "Ångström", "L’Étoile", "Øster", "Françoise"}
	legal    = []string{"", "", "", "", " LLC", " Inc", ", Inc.", " Co.", " Corp"}
	// strange names are what Clean must mend: a no-break space, a zero-width
	// space, a terminal escape, a bidi override, markup, tabs and line breaks.
	strange = []string{
		"Non\u00a0Breaking %s", "Zero\u200bWidth %s", "\x1b[31mRed Alert\x1b[0m %s", "\u202eEsrever %s", "<b>Bold</b> %s", "Line\n   Break %s", "☕ Koffee & %s ☕",
		"\"Quotes\" 'R' Us %s", "100% %s; DROP TABLE listings;--", "北京 %s", "%s of the Greater Metropolitan Area and All Surrounding Communities, Counties, Townships and Unincorporated Places",
	}
	streetNames = []string{
		"Main", "Oak", "Maple", "Cedar", "Washington", "Lincoln", "2nd", "5th", "14th", "Mission", "Broadway", "Martin Luther King Jr", "Sunset", "Lake",
		"Camino Real", "Airport", "Commerce", "Elm", "Alameda de las Pulgas", "County Road 12", "Church", "Mill", "Railroad", "Park",
	}
	streetTypes = []string{"St", "Ave", "Blvd", "Rd", "Dr", "Ln", "Pkwy", "Hwy", "Ct", "Way"}
	directions  = []string{"", "", "", "N ", "S ", "E ", "W ", "NW "}
	hourSets    = [][]string{
		{"Mo-Fr 08:00-17:00"},
		{"Mo-Th 11:00-21:30", "Fr 12:00-02:00", "Sa-Su 10:00-22:00"},
		{"Mo-Su 00:00-23:59"},
		{"Mo-Fr 08:00-12:00,13:00-17:00", "Sa 09:00-13:00"},
		{"Mo-Fr 07:30-18:00", "Sa 08:00-14:00", "Su"},
		{"Mo-Sa 10:00-19:00"},
	}
)

// halves names the rating classes from half a star to five.
var halves = [...]string{"", "half", "one", "one half", "two", "two half", "three", "three half", "four", "four half", "five"}

// Categories returns the categories of the directory.
func Categories() []string {
	names := make([]string, len(trades))
	for i := range trades {
		names[i] = trades[i].name
	}
	return names
}
