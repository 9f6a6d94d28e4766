package e2e

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	_ "modernc.org/sqlite"
)

// bareLoop is what the crawl's cost is measured against: net/http, a parse of
// the whole page, compiled matchers and prepared upserts with one commit a
// page; no log, claims, checkpoint or pacing. It reads page addresses from
// stdin and writes into the database named by its one argument.
func bareLoop(args []string) int {
	if err := runBare(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runBare(path string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, bareSchema); err != nil {
		return err
	}
	upsert, err := db.PrepareContext(ctx, bareUpsert)
	if err != nil {
		return err
	}
	defer func() { _ = upsert.Close() }()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if err := barePage(ctx, db, upsert, in.Text()); err != nil {
			return err
		}
	}
	return in.Err()
}

const (
	bareSchema = `CREATE TABLE listings (id INTEGER PRIMARY KEY, ypid TEXT UNIQUE, name TEXT, rank TEXT, profile TEXT, phone TEXT,
		street TEXT, locality TEXT, website TEXT, categories TEXT, rating TEXT, reviews TEXT, years TEXT, price TEXT, snippet TEXT,
		image TEXT, city TEXT, seen TEXT) STRICT;
		CREATE INDEX by_phone ON listings (phone); CREATE INDEX by_website ON listings (website)`
	bareUpsert = `INSERT INTO listings (ypid, name, rank, profile, phone, street, locality, website, categories, rating, reviews, years,
		price, snippet, image, city, seen) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT (ypid) DO UPDATE SET name = excluded.name, rank = excluded.rank, profile = excluded.profile, phone = excluded.phone,
		street = excluded.street, locality = excluded.locality, website = excluded.website, categories = excluded.categories,
		rating = excluded.rating, reviews = excluded.reviews, years = excluded.years, price = excluded.price,
		snippet = excluded.snippet, image = excluded.image, seen = excluded.seen`
)

var (
	bareCards  = cascadia.MustCompile("div.search-results.organic div.result")
	bareFields = []struct {
		match goquery.Matcher
		attr  string
	}{
		{goquery.SingleMatcher(cascadia.MustCompile("a.business-name span")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile("h2.n")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile("a.business-name")), "href"},
		{goquery.SingleMatcher(cascadia.MustCompile(".phones.phone.primary")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile(".street-address")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile(".locality")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile("a.track-visit-website")), "href"},
		{goquery.SingleMatcher(cascadia.MustCompile(".categories")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile(".result-rating")), "class"},
		{goquery.SingleMatcher(cascadia.MustCompile(".ratings .count")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile(".years-in-business .count")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile(".price-range")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile(".snippet")), ""},
		{goquery.SingleMatcher(cascadia.MustCompile(".media-thumbnail img")), "src"},
	}
)

func barePage(ctx context.Context, db *sql.DB, upsert *sql.Stmt, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	doc, err := goquery.NewDocumentFromReader(resp.Body)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	st := tx.StmtContext(ctx, upsert)
	var failed error
	doc.FindMatcher(bareCards).EachWithBreak(func(_ int, card *goquery.Selection) bool {
		_, failed = st.ExecContext(ctx, bareRow(card, address)...)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return tx.Commit()
}

func bareRow(card *goquery.Selection, address string) []any {
	id, _ := card.Attr("data-ypid")
	if id == "" {
		id, _ = card.Attr("id")
	}
	row := []any{id}
	for _, f := range bareFields {
		found := card.FindMatcher(f.match)
		text := found.Text()
		if f.attr != "" {
			text = found.AttrOr(f.attr, "")
		}
		row = append(row, strings.TrimSpace(text))
	}
	return append(row, address, "2026-11-20T23:50:00.000Z")
}
