package start

import "ypcrawl/crawl/kept"

// keepPages opens the file of kept pages; nil = none is kept. A crawl is never the
// worse for it: what fails is only logged.
func keepPages(cfg kept.Config) *kept.Writer {
	if cfg.Path == "" {
		return nil
	}
	w, err := kept.Open(cfg)
	if err != nil {
		cfg.Logger.Warn().Err(err).Str("file", cfg.Path).Msg("pages are not kept in this run; the crawl continues")
		return nil
	}
	return w
}
