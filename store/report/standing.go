package report

// OutcomeText is how a run ended, for people.
func OutcomeText(outcome string) string {
	switch outcome {
	case "done":
		return "all due work is done"
	case "interrupted":
		return "it was interrupted; the same command goes on"
	case "budget":
		return "a budget is used up; the same command goes on"
	case "blocked":
		return "the source is closed"
	case "no_proxies":
		return "no proxy is left"
	case "layout":
		return "the layout of the site has changed"
	case "dead":
		return "it was killed; the same command goes on"
	case "running":
		return "it has not ended"
	}
	return "an error"
}
