package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/frame"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// Secrets of sources: definitions name them, the environment holds them.

// sourceSecrets reads the secrets of a source from the environment, nil = it has none. Where the source was moved to another address,
// which gets none, they need not be there.
func sourceSecrets(src *site.Source) (*fetch.Secrets, error) {
	named := src.Secrets()
	if len(named) == 0 {
		return nil, nil
	}
	to, values, missing := src.SecretOrigin(), map[string]string{}, []string(nil)
	if !fetch.TakesSecrets(to) {
		return nil, frame.Usagef("source %s has secrets, which are sent only over https or to this machine, but its base_url is %s", src.Name(), originOf(to))
	}
	for _, s := range named {
		if value := os.Getenv(s.Variable); value != "" {
			values[s.Name] = value
		} else {
			missing = append(missing, s.Variable)
		}
	}
	if len(missing) > 0 && originOf(src.BaseURL()) == originOf(to) {
		return nil, frame.Usagef("source %s needs the environment variable %s: set it to the secret for %s",
			src.Name(), strings.Join(missing, " and "), originOf(to))
	}
	secrets, err := fetch.NewSecrets(to, values)
	if err != nil {
		return nil, frame.Usagef("source %s: %w", src.Name(), err)
	}
	return secrets, nil
}

// originOf is the scheme, the host and the port of an address.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)] {
		port = ""
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return strings.ToLower(u.Scheme) + "://" + host
}

// secretsText says which variables hold secrets of a source and where they are sent; "" = it has none.
func secretsText(src *site.Source) string {
	var names []string
	for _, s := range src.Secrets() {
		names = append(names, s.Variable)
	}
	switch to := originOf(src.SecretOrigin()); {
	case len(names) == 0:
		return ""
	case !fetch.TakesSecrets(src.SecretOrigin()):
		return fmt.Sprintf("the secret of %s is sent only over https or to this machine, not to %s; no run will request anything", strings.Join(names, " and "), to)
	case originOf(src.BaseURL()) != to:
		return fmt.Sprintf("the secret of %s is sent only to %s, not to %s", strings.Join(names, " and "), to, originOf(src.BaseURL()))
	default:
		return fmt.Sprintf("the secret of %s is sent only to %s", strings.Join(names, " and "), to)
	}
}

// noteSecrets says which secrets a source has and where they are sent.
func (p *Program) noteSecrets(src *site.Source) {
	if text := secretsText(src); text != "" {
		p.Note("%s: %s.", src.Name(), text)
	}
}

// checkUnusedSecrets tells of variables that hold secrets of no source that a command uses.
func (p *Program) checkUnusedSecrets(sources []*site.Source) {
	var known []string
	for _, src := range sources {
		for _, s := range src.Secrets() {
			known = append(known, s.Variable)
		}
	}
	for _, line := range os.Environ() {
		name, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, site.SecretPrefix) || value == "" || slices.Contains(known, name) {
			continue
		}
		text := fmt.Sprintf("the variable %s has no effect: no source of this command has such a secret", yp.Printable(name))
		if near, ok := yp.Nearest(name, known); ok {
			text += "; did you mean " + near + "?"
		}
		p.Note("%s", text)
	}
}

// errOtherOrigin says that a definition sends a secret elsewhere than the one that is stored.
var errOtherOrigin = errors.New("the secret would go to another address")

// checkStoredSecrets refuses a definition whose secrets are those of another source by the names of their variables, or would go
// elsewhere than those of the stored definition that it takes the place of: errOtherOrigin.
func checkStoredSecrets(src *site.Source, stored storedList) error {
	for i := range stored {
		s := &stored[i]
		if s.Definition == "" {
			continue // it says nothing of secrets
		}
		origin, secrets := s.BaseURL, 0
		if old, err := site.ParseWith(s.Name, []byte(s.Definition), storedCities(s.Cities)); err == nil {
			origin, secrets = originOf(old.SecretOrigin()), len(old.Secrets())
		} else if u, err := url.Parse(s.BaseURL); err == nil { // of a definition that can't be read any more its address is known
			origin = originOf(u)
		}
		switch same := s.Name == src.Name(); {
		case same && len(src.Secrets()) > 0 && origin != originOf(src.SecretOrigin()):
			return fmt.Errorf("%w: %s instead of %s. To allow it: `ypcrawl sources add --yes FILE.yaml`",
				errOtherOrigin, originOf(src.SecretOrigin()), origin)
		case !same && site.SecretName(s.Name) == site.SecretName(src.Name()) && len(src.Secrets())+secrets > 0:
			return fmt.Errorf("%s and %s would use the same variables, %s%s_…; give the source another name", src.Name(), s.Name, site.SecretPrefix,
				site.SecretName(src.Name()))
		}
	}
	return nil
}

// checkFileSecrets is checkStoredSecrets for a source from a file. For one without secrets the database is not looked at.
func (p *Program) checkFileSecrets(c *cli.Context, src *site.Source) error {
	if len(src.Secrets()) == 0 {
		return nil
	}
	stored, err := p.storedSources(c)
	if err != nil {
		return err
	}
	if err = checkStoredSecrets(src, stored); err != nil {
		return frame.Usagef("--source-file: %w", err)
	}
	return nil
}
