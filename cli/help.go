package cli

import (
	"embed"
	"io/fs"
	"strings"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl/discover"
	"ypcrawl/crawl/site"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// topics are the texts of `help TOPIC`.
//
//go:embed help/*.txt
var topics embed.FS

// mainCommand is the command whose settings need not name it.
const mainCommand = "run"

// help is what help tells beside what commands say of themselves.
func help() frame.Help {
	texts, _ := fs.Sub(topics, "help") // a folder that is embedded
	return frame.Help{About: helpDescription, Groups: helpGroups(), Flags: helpFlags, Topics: texts}
}

// helpGroups are the commands as the first screen shows them. Each is in one group, and lists where they say.
func helpGroups() []frame.HelpGroup {
	groups := []frame.HelpGroup{
		{Name: "Crawl", Words: "run plan discover details progress dashboard schedule recover reset"},
		{Name: "Results", Words: "listings companies changes coverage export query"},
		{Name: "Trouble", Words: "status runs targets doctor selftest"},
		{Name: "Sources", Words: "sources proxies demo reparse"},
		{Name: "Files", Words: "backup restore wal version completion help"},
	}
	for i := range groups {
		for _, l := range report.Lists {
			if l.Under == groups[i].Name {
				name, _, _ := strings.Cut(l.Name, " ")
				groups[i].Words += " " + name
			}
		}
	}
	return groups
}

// helpFlags are, of the commands with many flags, those that most people need, and the
// others in groups, which `--help --all` shows.
var helpFlags = map[string][]frame.HelpGroup{
	"run": {
		{Words: "source states cities categories max-pages workers delay user-agent details discover recrawl max-duration web dry-run"},
		{Name: "Sources and targets", Words: "source-file base-url any-category min-population max-cities every include-sponsored"},
		{Name: "Pace and manners", Words: "concurrency-per-host max-per-state robots patience watch"},
		{Name: "Proxies and identities", Words: "proxy proxy-file proxy-policy identity"},
		{Name: "When it ends", Words: "linger max-requests max-targets fail-above ping notify"},
		{Name: "Files", Words: "keep-pages json"},
	},
}

// helpDescription is what the first screen begins with.
const helpDescription = `ypcrawl crawls business directories into a local SQLite file. Kill it at any time and run it again: it continues where it was, with nothing lost or doubled.

  ypcrawl run --source demo --states CA TX     crawl a built-in demo directory
  ypcrawl progress --watch                     watch it from another terminal
  ypcrawl export -o listings.xlsx              save what was found
`

// flagValues are what a flag of that name may be, each with what it is.
func flagValues(name string) (values [][2]string) {
	switch name {
	case "categories", "category":
		for _, c := range discover.KnownCategories() {
			values = append(values, [2]string{yp.CategorySlug(c), c})
		}
	case "source":
		for _, s := range site.Builtins() {
			values = append(values, [2]string{s})
		}
	}
	return values
}

// oldWords are commands as they were called, and what they are now.
var oldWords = [][2]string{
	{"trace", "targets show"},
	{"dead list", "targets list --status=PARKED"},
	{"dead requeue", "reset --status=PARKED"},
	{"retry", "reset --status=FAILED,STUCK,PARKED --kind=search,index,detail"},
	{"details retry", "reset --kind=detail"},
	{"details show", "listings show"},
	{"listings search", "listings list --search"},
}
