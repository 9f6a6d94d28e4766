package cli

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/checkpoint"
	"ypcrawl/cli/frame"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/yp"
)

// sourcesAddCommand is `sources add`.
func (p *Program) sourcesAddCommand() *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "Check your own definition and store it as a source, in place of an earlier one of that name",
		ArgsUsage: "FILE.yaml", Args: true,
		Description: fmt.Sprintf("A new source is in the sandbox: it has at most %d searches, and becomes active once 70%% of its cards are\n", checkpoint.SandboxTargets) +
			"accepted, or by `sources promote`. An existing source keeps its stage. `run --source-file FILE` crawls at once.\n" +
			"If its secrets would go to another address than before, --yes is needed.\n" +
			"It warns if the end of a list can't be recognised, and with --try also if a field is on no card, or the site's 404 page has no chrome.",
		Flags: append(frame.AsSettings(egressFlags()...),
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "send the secrets to another address than before"},
			&cli.BoolFlag{Name: "try", Usage: "first request a page of results and one that can't exist, as a crawl does, and warn of what is odd"},
			frame.JSONFlag()),
		Action: p.sourcesAdd,
	}
}

func (p *Program) sourcesAdd(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return frame.Usagef("give the file of one definition; `ypcrawl sources show yellowpages` prints one to start from")
	}
	src, err := readSource(c.Args().First())
	if err != nil {
		return err
	}
	if err := src.Usable(); err != nil {
		return err
	}
	n := sourceRow(src)
	n.Definition = string(src.YAML())
	if _, err := site.ParseWith(n.Name, src.YAML(), storedCities(n.Cities)); err != nil { // as `run` reads it
		return err
	}
	if isBuiltin(n.Name) {
		return fmt.Errorf("%s is the name of a built-in source; choose another name in the file", n.Name)
	}
	if err := p.tellDoubts(c, src); err != nil {
		return err
	}
	return p.with(c, create, func(k *database, _ store.Scope) error {
		stored, err := k.StoredSources(c.Context)
		if err == nil {
			err = checkStoredSecrets(src, stored)
		}
		if err != nil && (!errors.Is(err, errOtherOrigin) || !c.Bool("yes")) {
			return err
		}
		added, err := k.AddSource(c.Context, n)
		if err != nil {
			return err
		}
		p.noteSecrets(src)
		if added.Stage == checkpoint.StageSandbox {
			p.Note("%s is in the sandbox, with at most %d searches. Next: `ypcrawl run --source %s%s`.", n.Name,
				checkpoint.SandboxTargets, n.Name, someState(src))
		}
		return p.showSources(c, k, n.Name)
	})
}

// tellDoubts says what may be wrong with a definition that is to be stored: by itself, and with --try by two pages of its site.
func (p *Program) tellDoubts(c *cli.Context, src *site.Source) error {
	if unsaid := src.EndsUnsaid(); unsaid != "" {
		p.Note("%s: %s.", src.Name(), unsaid)
	}
	if !c.Bool("try") {
		p.Note("Not checked: whether each field is found, and whether the site's 404 page has the chrome. `ypcrawl sources add --try FILE.yaml` requests two pages to find out.")
		return nil
	}
	a, err := p.newAsker(c, src)
	if err != nil {
		return err
	}
	defer a.end()
	page, err := p.tryRequest(c, a, src)
	if err != nil {
		return err
	}
	if page.Outcome != site.OK {
		p.Note("%s: the page of results is %s: %s. `ypcrawl sources try FILE.yaml` reads it again.", src.Name(), page.Outcome.Code(), yp.Printable(page.Reason))
	} else if missing := notFound(src, page); len(missing) > 0 {
		p.Note("%s: no card of the page has: %s. `ypcrawl sources try FILE.yaml` shows what each rule finds.", src.Name(), strings.Join(missing, ", "))
	}
	return p.tryMissing(c, a, page)
}

// notFound are the fields of the definition that no listing of a page has.
func notFound(src *site.Source, page *tried) []string {
	return slices.DeleteFunc(src.WrittenFields(), func(field string) bool {
		return slices.ContainsFunc(page.Listings, func(l yp.Listing) bool { return site.Found(field, &l) })
	})
}

// noSuchPage is, below the address of a page, that of one that can't be there.
const noSuchPage = "no-such-page-4711"

// tryMissing asks for a page that can't be there, below one of results, and says where it can't be told from a wrong address.
func (p *Program) tryMissing(c *cli.Context, a *asker, page *tried) error {
	u, err := url.Parse(page.ask.URL)
	if err != nil {
		return err
	}
	u.RawQuery, u.RawPath = "", ""
	read := func(src *site.Source, body []byte, _ *url.URL, status int) (*site.Page, error) { // wherever it is
		return src.ParsePage(body, nil, status)
	}
	missing, err := a.get(c, page.src, page.src.LinkRequest(u.JoinPath(noSuchPage).String()), read)
	if err == nil && missing.Outcome == site.Missing {
		p.Note("%s: %s.", page.src.Name(), site.NoChrome)
	}
	return err
}
