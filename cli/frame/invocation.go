package frame

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

// Hidden is shown in place of what is secret.
const Hidden = "xxxxx"

// Hide takes the secrets out of a word of the command line.
func (p *Invocation) Hide(word string) string {
	for _, s := range p.Secrets {
		if before, ok := strings.CutSuffix(word, s.Value); ok && (before == "" || strings.HasSuffix(before, "=")) {
			return before + s.Shown
		}
	}
	return RedactURL(word)
}

// HideAll takes the secrets out of a text.
func (p *Invocation) HideAll(text string) string {
	for _, s := range p.Secrets {
		if len(s.Value) > 7 { // a shorter one is no secret, and may be any word
			text = strings.ReplaceAll(text, s.Value, Hidden)
		}
	}
	return RedactURL(text)
}

// userinfo finds "user:password@", with and without a scheme before it, also in the
// middle of a list or behind "--flag=". The password may hold colons and at signs.
var userinfo = regexp.MustCompile(`([^\s:/@,="'` + "`" + `]*):([^\s/,"'` + "`" + `]+)@`)

// RedactURL hides the passwords of all web addresses and proxies in a text.
func RedactURL(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return userinfo.ReplaceAllString(text, "$1:xxxxx@")
}

// CommandLine is what was typed, quoted for a shell, without secrets.
func (p *Invocation) CommandLine() string {
	if len(p.Args) == 0 {
		return ""
	}
	words := []string{p.Self()}
	for _, a := range p.Args[1:] {
		words = append(words, p.Hide(a))
	}
	return ShellLine(words)
}

// Self is how this program is called: "go run" makes a binary that is gone
// when the program ends.
func (p *Invocation) Self() string {
	name := filepath.ToSlash(p.Args[0])
	if strings.Contains(name, "/go-build") && strings.Contains(name, "/exe/") {
		return goRun
	}
	return p.Args[0]
}

const goRun = "go run ."

// Command is a command of this program for the database in hand, quoted for a shell.
func (p *Invocation) Command(words ...string) string {
	all := []string{p.Self()}
	if p.Database != "" && p.Database != DefaultDB {
		all = append(all, "--db", p.Database)
	}
	return ShellLine(append(all, words...))
}

// Hints writes the commands that a text for people names between backquotes as they have to be typed
// here. Whatever is written for people goes through it.
func (p *Invocation) Hints(text string) string {
	if len(p.Args) == 0 || !strings.Contains(text, hinted) {
		return text
	}
	return strings.ReplaceAll(text, hinted, "`"+p.Command()+" ")
}

// hinted is how a text names a command of this program.
const hinted = "`ypcrawl "

// Note writes lines for the user's eyes, as Streams.Note does, with commands as they have to be typed.
func (p *Invocation) Note(format string, args ...any) {
	p.Streams.Note("%s", p.Hints(fmt.Sprintf(format, args...)))
}

// NoteError writes what went wrong to stderr, line by line, without secrets: a word that was typed may be a proxy.
func (p *Invocation) NoteError(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		p.noteLine(p.paint(p.Err, red, "ypcrawl:") + " " + yp.Printable(p.HideAll(p.Hints(line))))
	}
}

// ShellLine quotes words for sh. Control characters are dropped: the line is
// shown on terminals.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w != yp.Printable(w) {
			w = yp.Clean(w)
		}
		if quoted[i] = w; w != goRun {
			quoted[i] = ShellWord(w)
		}
	}
	return strings.Join(quoted, " ")
}

// Operand is a file's name as an argument of a command: one that begins with a dash would be read as a flag.
func Operand(path string) string {
	if IsFlag(path) {
		return "./" + path
	}
	return path
}

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9_./:=,@%+-]+$`)

// ShellWord quotes a word for sh.
func ShellWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Proceed asks whether to go on, unless --yes or named says so; a no is told.
func (p *Invocation) Proceed(c *cli.Context, what string, named bool) (bool, error) {
	ok, err := p.Confirm(c.Context, what, named || c.Bool("yes"))
	if err == nil && !ok {
		p.Note("Nothing was changed.")
	}
	return ok, err
}

// Typed reports whether a flag is on the command line: the library tells it from
// neither a variable nor the settings file.
func (p *Invocation) Typed(flag string) bool {
	for _, arg := range p.Args {
		if arg == "--" {
			return false
		}
		if IsFlag(arg) {
			if name, _, _ := SplitFlag(arg); name == flag {
				return true
			}
		}
	}
	return false
}
