package cli

import (
	"path/filepath"
	"regexp"
	"strings"

	"ypcrawl/yp"
)

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
func (p *Program) commandLine() string {
	if len(p.args) == 0 {
		return ""
	}
	words := []string{p.self()}
	for _, a := range p.args[1:] {
		words = append(words, redactURL(a))
	}
	return shellLine(words)
}

// self is how this program is called: "go run" makes a binary that is gone
// when the program ends.
func (p *Program) self() string {
	name := filepath.ToSlash(p.args[0])
	if strings.Contains(name, "/go-build") && strings.Contains(name, "/exe/") {
		return goRun
	}
	return p.args[0]
}

const goRun = "go run ."

// shellLine quotes words for sh. Control characters are dropped: the line is
// shown on terminals.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w != yp.Printable(w) {
			w = yp.Clean(w)
		}
		if quoted[i] = shellQuote(w); w == goRun {
			quoted[i] = w
		}
	}
	return strings.Join(quoted, " ")
}

// shellQuote quotes a word for sh unless it is plain.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
