package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/store/storetest"
)

// TestDocCommands: each command, flag and variable that a document or a text of help names is there, run by TestDocs or not: in
// blocks behind "ypcrawl", between backquotes also without it.
func TestDocCommands(t *testing.T) {
	t.Parallel()
	app := Standard("").app()
	if _, err := frame.Prepare(app, []string{"ypcrawl"}); err != nil {
		t.Fatal(err)
	}
	root := app.Root()
	docs, err := filepath.Glob("../docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatal("no documents", err)
	}
	checked := 0
	for _, doc := range append(docs, "../README.md") {
		data, err := os.ReadFile(doc)
		storetest.NoError(t, err)
		for _, name := range regexp.MustCompile(`YPCRAWL_[A-Z_]*[A-Z]\b`).FindAllString(string(data), -1) {
			ofTests := strings.HasSuffix(doc, "/benchmarks.md") || strings.HasSuffix(doc, "/contributing.md")
			if complaints := app.UnknownVariables([]string{name + "=1"}); len(complaints) > 0 && !ofTests {
				t.Errorf("%s: %s", doc, complaints)
			}
		}
		for _, line := range commandLines(string(data), root) {
			checked++
			if wrong := unknownWord(root, line); wrong != "" {
				t.Errorf("%s: %s: there is no %s", doc, line, wrong)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d command lines found", checked)
	}
	for line, want := range map[string]string{
		"run --states CA TX":                 "",
		"--db x.db wal replay logs":          "",
		"--workers 3 --delay 1":              "",
		"help cron":                          "",
		"schedule --daily 3:00 -- --delay 1": "",
		"run --state CA":                     "--state",
		"wal reply logs":                     "reply",
		"export --has email phone":           "",
		"crawl":                              "crawl",
		"help crons":                         "crons",
		"--wrkers 3":                         "--wrkers",
		"run --keep-logs 3":                  "--keep-logs",
		"schedule --daily 3:00 -- --dely 1":  "--dely",
		"sources add FILE --nme x":           "--nme",
		"targets show 7 --jsn":               "--jsn",
	} {
		if got := unknownWord(root, line); got != want {
			t.Errorf("%s: unknown %q, want %q", line, got, want)
		}
	}
}

// othersFlags are flags of other programs that documents name without them.
var othersFlags = []string{"--env", "--ignore-missing"}

// commandLines are the command lines of a document, without the program's name.
func commandLines(text string, root frame.Path) (all []string) {
	program := regexp.MustCompile(`(?:^|[\s;&|({/=])ypcrawl ([^|;&#>)<]+)`)
	inline := regexp.MustCompile("`([^`]+)`")
	lang, inside := "", false
	for l := range strings.SplitSeq(strings.ReplaceAll(text, "crontab -e", "crontab"), "\n") {
		if strings.HasPrefix(l, "```") {
			lang, inside = strings.TrimPrefix(l, "```"), !inside
			continue
		}
		prose := lang == "" && strings.HasPrefix(l, "ypcrawl ") // of a text of help, where commands are indented
		if inside && !prose && (lang != "console" || strings.HasPrefix(l, "$ ") || strings.HasPrefix(l, "> ")) {
			for _, m := range program.FindAllStringSubmatch(l, -1) {
				all = append(all, m[1])
			}
		}
		if inside {
			continue
		}
		for _, m := range inline.FindAllStringSubmatch(l, -1) {
			first, _, _ := strings.Cut(m[1], " ")
			if strings.HasPrefix(first, "--") && !slices.Contains(othersFlags, first) || root.Sub(first) != nil {
				all = append(all, m[1])
			}
			for _, p := range program.FindAllStringSubmatch(m[1], -1) {
				all = append(all, p[1])
			}
		}
	}
	return all
}

// unknownWord is the first word of a command line that names no command or flag. A flag without a command is one of any.
func unknownWord(root frame.Path, line string) string {
	at, words := root, regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`).FindAllString(line, -1)
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, _, valued := strings.Cut(strings.TrimLeft(w, "-"), "=")
		switch {
		case w == "--":
			at = frame.Path{root[0], root.Sub("run")} // schedule hands them to it
		case len(w) > 1 && w[0] == '-':
			f, _ := at.Flag(name)
			if f == nil && len(at) == 1 && words[0][0] == '-' {
				f = anyFlag(root, name)
			}
			if f == nil || frame.IsSetting(f) {
				return w
			}
			if d, ok := f.(cli.DocGenerationFlag); ok && d.TakesValue() && !valued {
				i++
				for len(at) > 1 && i+1 < len(words) && words[i+1][0] != '-' { // several values
					i++
				}
			}
		case at.Sub(w) != nil:
			at = append(slices.Clone(at), at.Sub(w))
		case w == strings.ToUpper(w) && !strings.ContainsAny(w, "…[") && len(at) > 1: // a value
		case w == strings.ToUpper(w) || strings.ContainsAny(w, "…[") || len(at) == 1 && (i > 0 || w[0] == '/'):
			return "" // a word that stands for others, a path behind another program's name, or values of a flag that stands alone
		case at.Last().Name == "help" && !slices.Contains(helpTopics(), w) && root.Sub(w) == nil,
			len(at.Last().Subcommands) > 0 && at.Last().ArgsUsage == "":
			return w
		}
	}
	return ""
}

// anyFlag finds a flag of any command.
func anyFlag(at frame.Path, name string) cli.Flag {
	if f, _ := at.Flag(name); f != nil && !frame.IsSetting(f) {
		return f
	}
	for _, sub := range at.Last().Subcommands {
		if f := anyFlag(append(slices.Clone(at), sub), name); f != nil {
			return f
		}
	}
	return nil
}

func helpTopics() []string {
	h := help()
	return h.TopicNames()
}
