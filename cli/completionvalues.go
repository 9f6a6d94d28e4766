package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

const (
	mostOffered    = 200                    // words of a kind
	completionTime = 300 * time.Millisecond // for what a database is asked
)

// values lists the values that a flag is known to take and that begin with typed, each behind head. In
// a list with commas the last one is being typed, and those before it are not offered again.
func (x *completion) values(f cli.Flag, head, typed string) (words []report.Word) {
	var had []string
	if i := strings.LastIndexByte(typed, ','); i >= 0 && kindOf(f) == multiFlag {
		had, head, typed = strings.Split(typed[:i], ","), head+typed[:i+1], typed[i+1:]
	}
	known := x.known(f, typed)
	if name := f.Names()[0]; name == "cities" || name == "categories" {
		if slug := yp.Slug(typed); slices.ContainsFunc(known, func(w report.Word) bool { return strings.HasPrefix(w.Text, slug) }) {
			typed = slug
		}
	}
	for _, word := range known {
		if slices.Contains(had, word.Text) || len(word.Text) < len(typed) || !strings.EqualFold(word.Text[:len(typed)], typed) {
			continue
		}
		word.Text = head + word.Text
		words = append(words, word)
	}
	return words
}

// known lists the values that a flag is known to take. The help of some names them: "only
// these: `KIND...` is search, detail, index".
func (x *completion) known(f cli.Flag, typed string) []report.Word {
	usage := ""
	if d, ok := f.(cli.DocGenerationFlag); ok {
		usage = d.GetUsage()
	}
	if about, names, ok := strings.Cut(usage, "...` is "); ok && strings.HasPrefix(about, "only these: ") {
		return plainWords(strings.Split(strings.ToLower(names), ", "))
	}
	switch f.Names()[0] {
	case "states":
		return stateWords(typed)
	case "cities":
		if strings.HasSuffix(usage, "by name") {
			return x.ask(report.WordCityName, typed)
		}
		return x.cities(typed)
	case "categories", "category":
		return x.categories(typed)
	case "source", "sources":
		return x.sources(typed)
	case "as":
		return x.ask(report.WordDelivery, typed)
	case "since":
		if strings.Contains(usage, "RUN") {
			return append(plainWords([]string{"last-pass", "7d"}), x.ask(report.WordRun, typed)...)
		}
	case "run":
		return append(plainWords([]string{"last"}), x.ask(report.WordRun, typed)...)
	case "listing":
		return x.ask(report.WordListing, typed)
	case "columns", "has":
		return plainWords(columnNames(report.ListingColumns()))
	case "only":
		return plainWords(lowerNames(report.ChangeWords()))
	case "status":
		return plainWords(lowerNames(yp.Statuses()))
	case "error":
		return plainWords(lowerNames(yp.ErrorCodes()))
	case "proxy-policy":
		return plainWords(lowerNames(fetch.Policies()))
	}
	return plainWords(map[string][]string{
		"identity":   {"honest", "browser"},
		"log-level":  {"debug", "info", "warn", "error"},
		"log-format": {"text", "json"},
		"wal-sync":   {"page", "interval"},
		"robots":     {"obey", "ignore"},
		"max-pages":  {"all"},
		"closed":     {"no", "yes", "only"},
		"split-by":   {"state", "category"},
		"discover":   {"weekly"},
		"print":      {"systemd", "cron", "launchd", "taskscheduler"},
	}[f.Names()[0]])
}

// operands lists what the arguments of a command may be, as its help names them.
func (x *completion) operands(at commandPath, typed string) (words []report.Word) {
	usage := strings.TrimLeft(at.last().ArgsUsage, "[")
	switch usage[:len(usage)-len(strings.TrimLeft(usage, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))] {
	case "TARGET":
		if len(at) > 1 && at[1].Name == "dead" {
			return matching(x.ask(report.WordDead, typed), typed)
		}
		words = x.ask(report.WordTarget, typed)
	case "COMPANY", "KEEP":
		words = x.ask(report.WordCompany, typed)
	case "LISTING":
		words = x.ask(report.WordListing, typed)
	case "SOURCE":
		words = x.sources(typed)
	case "RUN":
		words = append(plainWords([]string{"last"}), x.ask(report.WordRun, typed)...)
	case "NAME":
		words = x.ask(report.WordDelivery, typed)
	case "ID": // of proxies; pages that were kept have an ID, too
		if len(at) > 1 && at[1].Name == "proxies" {
			words = x.ask(report.WordProxy, typed)
		}
	case "COMMAND":
		for _, cmd := range x.app.Commands {
			words = append(words, report.Word{Text: cmd.Name, About: cmd.Usage})
		}
		words = append(words, plainWords(topicNames())...)
	}
	return matching(words, typed)
}

// matching leaves out what does not begin with what was typed.
func matching(words []report.Word, typed string) []report.Word {
	return slices.DeleteFunc(words, func(w report.Word) bool { return !strings.HasPrefix(w.Text, typed) })
}

// ask asks the database that the command would read. It is not made, and not written to; without one,
// or where it takes long, nothing is offered.
func (x *completion) ask(kind report.WordKind, typed string) (words []report.Word) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	db, err := store.Open(ctx, store.Config{Path: x.setting("db", defaultDB), MustExist: true, ReadOnly: true})
	if err != nil {
		return nil
	}
	defer func() { _ = db.Close() }() // it was only read
	if kind == report.WordCity || kind == report.WordCategory || kind == report.WordTarget {
		typed = strings.ToLower(typed)
	}
	words, _ = report.New(db).Words(ctx, kind, typed, mostOffered)
	words = slices.DeleteFunc(words, func(w report.Word) bool { return w.Text != yp.Printable(w.Text) })
	for i := range words {
		words[i].About = yp.Printable(words[i].About)
	}
	return words
}

// setting is the value of a flag of the program: that of the line, of its variable, of the settings file.
func (x *completion) setting(name, def string) string {
	for i, word := range x.words {
		if flag, value, hasValue := strings.Cut(word, "="); flag != "--"+name {
			continue
		} else if hasValue {
			return value
		} else if i+1 < len(x.words) {
			return x.words[i+1]
		}
	}
	if value := os.Getenv(variable("", name)); value != "" {
		return value
	}
	if name == configFlag {
		return def
	}
	s, err := readSettings(x.app, x.setting(configFlag, "ypcrawl.yaml"), "", false)
	if err != nil {
		return def
	}
	for _, found := range s.found {
		if found.key.Value == name && found.section == "" && len(found.values) == 1 {
			return found.values[0]
		}
	}
	return def
}

// stateWords lists the codes; whoever types the beginning of a name gets that name.
func stateWords(typed string) (words []report.Word) {
	for _, s := range yp.States() {
		words = append(words, report.Word{Text: s.Code, About: s.Name})
		if len(typed) > 1 {
			words = append(words, report.Word{Text: s.Name, About: s.Code})
		}
	}
	return words
}

// cities lists places of the gazetteer, the largest first, and those that only a source's index knows;
// of the states that the line chooses.
func (x *completion) cities(typed string) (words []report.Word) {
	g, err := gazetteer.Load()
	if err != nil { // it is embedded
		return nil
	}
	var states []string
	for i, word := range x.words {
		if word == "--states" {
			for _, name := range SplitList(x.words[i+1:]) {
				s, ok := yp.LookupState(name)
				if !ok {
					break
				}
				states = append(states, s.Code)
			}
		}
	}
	begins := yp.Slug(typed)
	for _, p := range g.All() {
		if len(words) < mostOffered && strings.HasPrefix(p.Slug, begins) && (len(states) == 0 || slices.Contains(states, p.State)) {
			words = append(words, report.Word{Text: p.Slug, About: p.Name + ", " + p.State + ", " + thousands(int64(p.Population)) + " inhabitants"})
		}
	}
	return addWords(words, x.ask(report.WordCity, typed))
}

// categories lists those of the source, or the known ones, and those of the database.
func (x *completion) categories(typed string) (words []report.Word) {
	names := discover.KnownCategories()
	if src, err := site.Builtin(x.setting("source", defaultSource)); err == nil && len(src.Categories()) > 0 {
		names = src.Categories()
	}
	for _, name := range names {
		words = append(words, report.Word{Text: yp.CategorySlug(name), About: name})
	}
	return addWords(words, x.ask(report.WordCategory, typed))
}

// sources lists the built-in ones and those of the database.
func (x *completion) sources(typed string) []report.Word {
	words := plainWords(site.Builtins())
	if !slices.ContainsFunc(words, func(w report.Word) bool { return w.Text == "demo" }) {
		words = append(words, report.Word{Text: "demo", About: "a built-in directory: no request leaves this machine"})
	}
	return addWords(words, x.ask(report.WordSource, typed))
}

// addWords adds those that are not there yet.
func addWords(words, more []report.Word) []report.Word {
	had := map[string]bool{}
	for _, w := range words {
		had[w.Text] = true
	}
	for _, w := range more {
		if !had[w.Text] {
			words = append(words, w)
		}
	}
	return words
}

func plainWords(texts []string) []report.Word {
	words := make([]report.Word, len(texts))
	for i, text := range texts {
		words[i].Text = text
	}
	return words
}

func lowerNames[T ~string](list []T) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = strings.ToLower(string(v))
	}
	return names
}
