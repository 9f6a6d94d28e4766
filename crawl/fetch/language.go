package fetch

import "strings"

// Languages lists what browsers of people in an IANA time zone
// ("America/Chicago") usually ask for, the best first: their country's, and
// English. A zone that is unknown, or the United States', is American English.
func Languages(zone string) []string {
	switch zone {
	case "America/Puerto_Rico":
		return []string{"es-PR", "es", "en-US", "en"}
	case "America/Montreal":
		return []string{"fr-CA", "fr", "en-CA", "en"}
	case "America/Toronto", "America/Vancouver", "America/Edmonton", "America/Winnipeg", "America/Regina", "America/Halifax",
		"America/Moncton", "America/Glace_Bay", "America/Goose_Bay", "America/St_Johns", "America/Iqaluit", "America/Thunder_Bay",
		"America/Whitehorse", "America/Dawson", "America/Yellowknife":
		return []string{"en-CA", "en"}
	case "America/Mexico_City", "America/Monterrey", "America/Tijuana", "America/Merida", "America/Cancun", "America/Hermosillo":
		return []string{"es-MX", "es", "en-US", "en"}
	case "Europe/London", "Europe/Jersey", "Europe/Guernsey", "Europe/Isle_of_Man", "Europe/Belfast":
		return []string{"en-GB", "en"}
	case "Europe/Dublin":
		return []string{"en-IE", "en"}
	case "Europe/Berlin":
		return []string{"de-DE", "de", "en-US", "en"}
	case "Europe/Vienna":
		return []string{"de-AT", "de", "en-US", "en"}
	case "Europe/Paris":
		return []string{"fr-FR", "fr", "en-US", "en"}
	case "Europe/Madrid":
		return []string{"es-ES", "es", "en-US", "en"}
	case "Europe/Rome":
		return []string{"it-IT", "it", "en-US", "en"}
	case "Pacific/Auckland", "Pacific/Chatham":
		return []string{"en-NZ", "en"}
	}
	if strings.HasPrefix(zone, "Australia/") {
		return []string{"en-AU", "en"}
	}
	return []string{"en-US", "en"}
}
