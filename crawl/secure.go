package crawl

import (
	"net/url"
	"strings"

	"ypcrawl/crawl/fetch"
)

// tellSecure warns, once a run of a source, that its base_url is of http while the site is on https: each page
// costs one request that is only led to the other.
func (w *worker) tellSecure(a *answer, final *url.URL) {
	base := w.cfg.Source.BaseURL()
	if base.Scheme != "http" || final.Scheme != "https" || !strings.HasPrefix(a.first.URL, "http:") {
		return
	}
	if _, told := w.told.LoadOrStore("https", true); told {
		return
	}
	w.logger.Warn().Str("source", w.cfg.Source.Name()).Str("base_url", base.Redacted()).
		Msg(fetch.SecureText(base, final))
}
