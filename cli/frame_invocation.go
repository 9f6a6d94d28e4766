package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// Invocation is one call of the program: its streams, and what was typed.
type Invocation struct {
	Streams
	Args     []string // the command line; Args[0] is how the program was called
	Database string   // that of the running command, as an argument of --db, for hints
	Secrets  []Secret // that must not be shown
}

// Secret is a value that is a secret as a whole.
type Secret struct {
	Value string
	Shown string // in its place
}

// hidden stands for what is secret.
const hidden = "xxxxx"

// hide takes the secrets out of a word of the command line.
func (p *Invocation) hide(word string) string {
	for _, s := range p.Secrets {
		if before, ok := strings.CutSuffix(word, s.Value); ok && (before == "" || strings.HasSuffix(before, "=")) {
			return before + s.Shown
		}
	}
	return redactURL(word)
}

// hideAll takes the secrets out of a text.
func (p *Invocation) hideAll(text string) string {
	for _, s := range p.Secrets {
		if len(s.Value) > 7 { // a shorter one is no secret, and may be any word
			text = strings.ReplaceAll(text, s.Value, hidden)
		}
	}
	return redactURL(text)
}

// userinfo finds "user:password@", with and without a scheme before it, also in the
// middle of a list or behind "--flag=". The password may hold colons and at signs.
var userinfo = regexp.MustCompile(`([^\s:/@,="'` + "`" + `]*):([^\s/,"'` + "`" + `]+)@`)

// redactURL hides the passwords of all web addresses and proxies in a text.
func redactURL(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return userinfo.ReplaceAllString(text, "$1:xxxxx@")
}

// commandLine is what was typed, quoted for a shell, without secrets.
func (p *Invocation) commandLine() string {
	if len(p.Args) == 0 {
		return ""
	}
	words := []string{p.self()}
	for _, a := range p.Args[1:] {
		words = append(words, p.hide(a))
	}
	return shellLine(words)
}

// self is how this program is called: "go run" makes a binary that is gone
// when the program ends.
func (p *Invocation) self() string {
	name := filepath.ToSlash(p.Args[0])
	if strings.Contains(name, "/go-build") && strings.Contains(name, "/exe/") {
		return goRun
	}
	return p.Args[0]
}

const goRun = "go run ."

// command is a command of this program for the database in hand.
func (p *Invocation) command(words ...string) string {
	all := []string{p.self()}
	if p.Database != "" && p.Database != defaultDB {
		all = append(all, "--db", p.Database)
	}
	return shellLine(append(all, words...))
}

// hints writes the commands that a text for people names between backquotes as they have to be typed
// here. Whatever is written for people goes through it.
func (p *Invocation) hints(text string) string {
	if len(p.Args) == 0 || !strings.Contains(text, hinted) {
		return text
	}
	return strings.ReplaceAll(text, hinted, "`"+p.command()+" ")
}

// hinted is how a text names a command of this program.
const hinted = "`ypcrawl "

// note writes lines for the user's eyes, as Streams.note does, with commands as they have to be typed.
func (p *Invocation) note(format string, args ...any) {
	p.Streams.note("%s", p.hints(fmt.Sprintf(format, args...)))
}

// noteError writes what went wrong to stderr, line by line, without secrets: a word that was typed may be a proxy.
func (p *Invocation) noteError(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		p.noteLine(p.paint(p.Err, red, "ypcrawl:") + " " + yp.Printable(p.hideAll(p.hints(line))))
	}
}

// shellLine quotes words for sh. Control characters are dropped: the line is
// shown on terminals.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w != yp.Printable(w) {
			w = yp.Clean(w)
		}
		if quoted[i] = w; w != goRun {
			quoted[i] = shellWord(w)
		}
	}
	return strings.Join(quoted, " ")
}

// operand is a file's name as an argument of a command: one that begins with a dash would be read as a flag.
func operand(path string) string {
	if isFlag(path) {
		return "./" + path
	}
	return path
}

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9_./:=,@%+-]+$`)

// shellWord quotes a word for sh.
func shellWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// proceed asks whether to go on, unless --yes or named says so; a no is told.
func (p *Invocation) proceed(c *cli.Context, question string, named bool) (bool, error) {
	ok, err := p.confirm(c.Context, question, named || c.Bool("yes"))
	if err == nil && !ok {
		p.note("Nothing was changed.")
	}
	return ok, err
}

// typed reports whether a flag stands on the command line: the library tells it from
// neither a variable nor the settings file.
func (p *Invocation) typed(flag string) bool {
	for _, arg := range p.Args {
		if arg == "--" {
			return false
		}
		if isFlag(arg) {
			if name, _, _ := splitFlag(arg); name == flag {
				return true
			}
		}
	}
	return false
}
