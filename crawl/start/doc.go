// Package start assembles a crawl of one or several sources: what reaches their sites, the
// write-ahead logs, the pages that are kept and the memory that it may take.
//
// Purpose: a Config, which says in the words of the packages below what an operator wants,
// becomes a Crawl that can be run: clients and pools of proxies (clients.go, proxies.go), logs
// (logs.go), the soft limit of memory (memory.go), and the engines over them.
//
// Invariants: a host has one client and one pool, however many sources are there, so that it
// is never asked faster because two definitions speak of it; with fetch.PolicyRequire no
// request goes out directly; what is gathered of proxies is written before a crawl has ended,
// and gathered on where it can't be written.
//
// Crash: a crawl that is killed has its pages in the logs and in the database (see crawl). What
// is lost is at most the last seconds of what was gathered of proxies. Logs that were not
// compressed or removed yet are looked at by the next crawl.
//
// Imports: crawl, crawl/fetch, crawl/health, crawl/kept, crawl/site, store, wal and yp; zerolog. Never cli or
// flags.
//
// Tests: proxies over real files; the whole through the commands' tests and those of e2e.
package start
