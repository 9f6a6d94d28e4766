package site

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// SecretPrefix is what the names of the environment's variables begin with that hold secrets.
const SecretPrefix = "YPCRAWL_SECRET_"

// Secret is a text that a definition names and does not hold: ${TOKEN} in a header, the value of a query or a body.
type Secret struct {
	Name     string // TOKEN
	Variable string // of the environment, which holds it: YPCRAWL_SECRET_ACME_TOKEN
}

// Secrets returns the secrets that requests of the source hold, sorted.
func (s *Source) Secrets() (all []Secret) {
	for _, name := range slices.Sorted(maps.Keys(s.secrets)) {
		all = append(all, Secret{Name: name, Variable: SecretPrefix + SecretName(s.Name()) + "_" + name})
	}
	return all
}

// SecretOrigin returns the address whose scheme, host and port alone get the source's secrets: the definition's own, wherever
// the source was moved to.
func (s *Source) SecretOrigin() *url.URL { u := *s.origin; return &u }

// SecretName is a source's name in the names of variables: in capitals, with _ for -.
func SecretName(source string) string { return strings.ToUpper(strings.ReplaceAll(source, "-", "_")) }

// secretName finds the names of secrets; secretForm is what one looks like.
var (
	secretName = regexp.MustCompile(`\$\{[^{}]*\}`)
	secretForm = regexp.MustCompile(`^\$\{([A-Za-z0-9]+)\}$`)
)

// secretOf returns the name of a secret, with what it stands in, in capitals: ${TOKEN}.
func secretOf(whole string) (string, error) {
	if !secretForm.MatchString(whole) {
		return "", fmt.Errorf("%s: want only letters and digits, such as ${TOKEN}", whole)
	}
	return strings.ToUpper(whole), nil
}

// secretsIn writes the names of secrets in a text in capitals.
func secretsIn(text string) (out string, err error) {
	out = secretName.ReplaceAllStringFunc(text, func(whole string) string {
		name, wrong := secretOf(whole)
		err = errors.Join(err, wrong)
		return name
	})
	return out, err
}

// secretQuery writes the names of secrets in a query in capitals: in its values alone they may stand.
func secretQuery(path, query string) (string, error) {
	if found := secretName.FindString(path); found != "" {
		return "", fmt.Errorf("%s in a path: a secret may only be in a header, in a query's value or in a body", found)
	}
	for param := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(param, "=")
		if found := secretName.FindString(name); found != "" {
			return "", fmt.Errorf("%s in a parameter's name: a secret may only be in its value", found)
		}
	}
	return secretsIn(query)
}

// noteSecrets notes the secrets that a template holds.
func (c *compiled) noteSecrets(t *template) {
	texts := slices.Clone(t.query)
	for _, all := range t.headers {
		texts = append(texts, all...)
	}
	if t.body != nil {
		texts = append(texts, string(t.body.fill(nil, sampleValues(optional)))) // with what is left out where it holds nothing
	}
	for _, text := range texts {
		for _, whole := range secretName.FindAllString(text, -1) {
			if m := secretForm.FindStringSubmatch(whole); m != nil {
				if c.secrets == nil {
					c.secrets = map[string]bool{}
				}
				c.secrets[m[1]] = true
			}
		}
	}
}

// ownHeaders are those that no definition may name: they are the connection's, the body's or the identity's.
var ownHeaders = []string{
	"Host", "Cookie", "User-Agent", "Content-Length", "Transfer-Encoding", "Connection", "Te", "Upgrade", "Expect", "Range",
	"Accept-Encoding",
}

// compileHeaders makes headers ready. What is wrong with them goes to f.
func compileHeaders(all map[string]headerDef, at string, f *faults) http.Header {
	if len(all) == 0 {
		return nil
	}
	h := make(http.Header, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d, key := all[name], http.CanonicalHeaderKey(name)
		value, err := secretsIn(d.Value)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			err = fmt.Errorf("%q can't be a header's name", name)
		case slices.Contains(ownHeaders, key) || strings.HasPrefix(key, "If-") || strings.HasPrefix(key, "Proxy-"):
			err = fmt.Errorf("ypcrawl itself sets the header %s: remove it", key)
		case h[key] != nil:
			err = fmt.Errorf("the header %s is there twice", key)
		case err != nil:
		case placeholderIn(value) != "":
			err = fmt.Errorf("%s in a header: a placeholder may only be in the address or the body", placeholderIn(value))
		case !httpguts.ValidHeaderFieldValue(value):
			err = errors.New("the value holds control characters")
		case value == d.Value && !secretName.MatchString(value) && !d.Public && value != "" && looksSecret(key):
			err = fmt.Errorf("definitions are stored, so keep secrets out of them: write %q here, and put the value into the environment variable %sNAME_TOKEN (NAME is the source's name)"+
				"; or write {value: …, public: true} if it is no secret", secretExample(key), SecretPrefix)
		}
		if err != nil {
			f.add(at+"."+name, err)
			continue
		}
		h[key] = []string{strings.TrimSpace(value)}
	}
	return h
}

// placeholderIn returns the first placeholder in a value; "" = it holds none. Other braces are text.
func placeholderIn(value string) string {
	for _, m := range anyPlaceholder.FindAllStringSubmatch(secretName.ReplaceAllString(value, ""), -1) {
		if slices.Contains(placeholders, m[1]) {
			return m[0]
		}
	}
	return ""
}

// looksSecret reports whether the value of a header is most likely known to few.
func looksSecret(name string) bool {
	name = strings.ToLower(name)
	return name == "authorization" || strings.Contains(name, "key") || strings.Contains(name, "token") || strings.Contains(name, "secret")
}

func secretExample(name string) string {
	if name == "Authorization" {
		return "Bearer ${TOKEN}"
	}
	return "${TOKEN}"
}
