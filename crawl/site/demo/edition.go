package demo

import (
	"fmt"
	"net/url"

	"ypcrawl/yp"
)

// MaxEpoch is the last epoch. Every step before it costs some nanoseconds per
// business, so there must be an end.
const MaxEpoch = 100

// edition is the directory in one epoch. It never changes, so a request that
// began in it ends in it, whatever SetEpoch does meanwhile.
type edition struct {
	*Directory
	*atlas
	epoch int
}

func checkEpoch(n int) error {
	if n < 0 || n > MaxEpoch {
		return fmt.Errorf("%w: want a number from 0 to %d", ErrEpoch, MaxEpoch)
	}
	return nil
}

// edition returns the directory as it is now.
func (d *Directory) edition() *edition { return d.now.Load() }

// editionOf makes the edition of an epoch.
func (d *Directory) editionOf(epoch int) *edition {
	return &edition{Directory: d, atlas: d.first.after(d.cfg.Seed, epoch, d.spares), epoch: epoch}
}

// Epoch returns the epoch that the directory is in.
func (d *Directory) Epoch() int { return d.edition().epoch }

// SetEpoch moves the directory to an epoch, forth or back: requests that come
// from now on are answered from it, those under way from the one they began in.
// What an epoch holds follows from the seed and the gazetteer alone. Errors
// wrap ErrEpoch.
func (d *Directory) SetEpoch(n int) error {
	if err := checkEpoch(n); err != nil {
		return fmt.Errorf("set the epoch of the demo directory: %w", err)
	}
	d.now.Store(d.editionOf(n))
	return nil
}

// Truth computes what a complete crawl of a selection must end with when the
// directory's base URL is base and its epoch stays the present one. A listing
// holds the union of what the crawled pages show of it; it is sponsored only
// when it was never seen as an organic result. Companies are the connected
// components over yp.CompanyKeys.
func (d *Directory) Truth(base *url.URL, sel Selection) Truth {
	return d.edition().truth(base, sel)
}

// Details computes what the listings' own pages say, for the listings of Truth
// that link to one, sorted by id as text.
func (d *Directory) Details(base *url.URL, sel Selection) []yp.Detail {
	return d.edition().details(base, sel)
}

// Cities lists what a walk through the indexes of the given states (codes;
// none = all) must find in the present epoch, sorted by slug.
func (d *Directory) Cities(states ...string) []City { return d.edition().cities(states) }
