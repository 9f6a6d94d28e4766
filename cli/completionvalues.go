package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// candidate is a word that a shell may offer, with what it is.
type candidate struct{ text, about string }

// values lists the values that a flag is known to take and that begin with typed, each behind head. In
// a list with commas the last one is being typed, and those before it are not offered again.
func (x *completion) values(f cli.Flag, head, typed string) (words []candidate) {
	var had []string
	if i := strings.LastIndexByte(typed, ','); i >= 0 && kindOf(f) == multiFlag {
		had, head, typed = strings.Split(typed[:i], ","), head+typed[:i+1], typed[i+1:]
	}
	usage := ""
	if d, ok := f.(cli.DocGenerationFlag); ok {
		usage = d.GetUsage()
	}
	for _, word := range declared(f.Names()[0], usage) {
		if len(typed) < 2 && f.Names()[0] == "states" && len(word.text) > 2 { // a state's name is offered to who types one
			continue
		}
		if slices.Contains(had, word.text) || len(word.text) < len(typed) || !strings.EqualFold(word.text[:len(typed)], typed) {
			continue
		}
		word.text = head + word.text
		words = append(words, word)
	}
	return words
}

// declared lists the values that a flag of a name takes. The help of some names them: "only
// these: `KIND...` is search, detail, index".
func declared(name, usage string) (words []candidate) {
	var texts []string
	about, names, ok := strings.Cut(usage, "...` is ")
	switch {
	case ok && strings.HasPrefix(about, "only these: "):
		texts = strings.Split(strings.ToLower(names), ", ")
	case name == "states":
		for _, s := range yp.States() {
			words = append(words, candidate{s.Code, s.Name}, candidate{s.Name, s.Code})
		}
	case name == "categories" || name == "category":
		for _, c := range discover.KnownCategories() {
			words = append(words, candidate{yp.CategorySlug(c), c})
		}
	case name == "source" || name == "sources":
		texts = append(site.Builtins(), demoSource)
	case name == "columns" || name == "has":
		texts = columnNames(report.ListingColumns())
	case name == "only":
		texts = lowerNames(report.ChangeWords())
	case name == "status":
		texts = lowerNames(yp.Statuses())
	case name == "error":
		texts = lowerNames(yp.ErrorCodes())
	case name == "proxy-policy":
		texts = lowerNames(fetch.Policies())
	default:
		texts = map[string][]string{
			"identity": {"honest", "browser"}, "log-level": {"debug", "info", "warn", "error"}, "log-format": {"text", "json"},
			"robots": {"obey", "ignore"}, "closed": {"no", "yes", "only"}, "print": {"cron", "systemd"},
		}[name]
	}
	for _, text := range texts {
		words = append(words, candidate{text: text})
	}
	slices.SortFunc(words, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	return slices.Compact(words)
}

// operands lists what the arguments of a command may be, as its help names them.
func (x *completion) operands(at commandPath, typed string) (words []candidate) {
	switch usage := strings.TrimLeft(at.last().ArgsUsage, "["); {
	case strings.HasPrefix(usage, "SOURCE"):
		words = declared("source", "")
	case strings.HasPrefix(usage, "COMMAND"):
		for _, cmd := range x.app.Commands {
			words = append(words, candidate{cmd.Name, cmd.Usage})
		}
		for _, name := range topicNames() {
			words = append(words, candidate{text: name})
		}
	}
	return slices.DeleteFunc(words, func(w candidate) bool { return !strings.HasPrefix(w.text, typed) })
}

func lowerNames[T ~string](list []T) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = strings.ToLower(string(v))
	}
	return names
}
