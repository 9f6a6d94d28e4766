package kept

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed" // for the schema
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rs/zerolog"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
	"ypcrawl/yp/folder"
)

// Page is what is kept of a page beside its body.
type Page struct {
	wal.Target  // of its claim
	Number      int
	URL         string // that answered, after redirects
	FetchedAt   time.Time
	Status      int
	ContentType string
	Method      string      // "" = GET
	Asked       []byte      // the body of the request, in which names stand for secrets; nil = it had none
	Header      http.Header // of the answer, what rules read
	BaseURL     string      // of the source, at that time
	Filter      string      // which listings were kept, as the engine has it in JSON
	Unknown     string      // why its layout is not known; "" = it is
}

// Config says where and how pages are kept.
type Config struct {
	Path     string                          // of the file; required
	Beside   string                          // the database, to whose owner the file belongs when root makes it; "" = that of the folder
	Days     int                             // pages are kept so long; 0 = only those whose layout is not known
	MaxBytes int64                           // of the file, about; required
	Free     func(dir string) (int64, error) // bytes that may still be written; nil = not asked
	Logger   zerolog.Logger
}

// schema makes the table of the file.
//
//go:embed pages.sql
var schema string

const (
	insertPage = `
	INSERT INTO pages (key, page, kind, final_url, status, content_type, fetched_at, target, base_url, filter, unknown, body,
		method, request_body, headers)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) RETURNING id`
	deleteOld = `DELETE FROM pages WHERE fetched_at < ? AND unknown = ''`
	// The oldest go, twice as many as come meanwhile, when what the file uses is more than it may.
	deleteFirst = `
	DELETE FROM pages WHERE id IN (SELECT id FROM pages WHERE unknown = '' ORDER BY id LIMIT 128)
		AND (SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size) > ?`
	// Of pages whose layout is not known the newest of a source stay.
	deleteUnknown = `
	DELETE FROM pages WHERE target ->> 'source' = ?1 AND unknown <> '' AND id <= (
		SELECT id FROM pages WHERE target ->> 'source' = ?1 AND unknown <> '' ORDER BY id DESC LIMIT 1 OFFSET ?2)`

	newestPages = `
	SELECT id FROM (SELECT id, key, page, max(fetched_at) AS at FROM pages
		WHERE kind <> 'index' AND (?1 = '' OR target ->> 'source' = ?1)
		GROUP BY key, page)
	ORDER BY min(at) OVER (PARTITION BY key), key, page`
	readPage = `
	SELECT page, final_url, status, content_type, fetched_at, target, base_url, filter, unknown, body, method, request_body, headers
	FROM pages WHERE id = ?`
	// Of a file that was made before the columns of what was asked.
	readFormer = `
	SELECT page, final_url, status, content_type, fetched_at, target, base_url, filter, unknown, body, 'GET', x'', '{}'
	FROM pages WHERE id = ?`

	hasAsked   = `SELECT count(*) FROM pragma_table_info('pages') WHERE name IN ('method', 'request_body', 'headers')`
	addMethod  = `ALTER TABLE pages ADD COLUMN method TEXT NOT NULL DEFAULT 'GET'`
	addBody    = `ALTER TABLE pages ADD COLUMN request_body BLOB NOT NULL DEFAULT x''`
	addHeaders = `ALTER TABLE pages ADD COLUMN headers TEXT NOT NULL DEFAULT '{}'`

	pruneEvery = 64        // pages, after which the bounds are looked at
	spareBytes = 512 << 20 // stay free for what must not fail: the database and its logs
	maxBody    = 64 << 20
)

// MaxUnknown is how many pages of a source are kept whose layout is not known.
const MaxUnknown = 10

// Errors of a page that can't be read, and of one that was removed since.
var (
	ErrDamaged = errors.New("kept page is damaged")
	ErrRemoved = sql.ErrNoRows
)

// Writer keeps the pages of a run. Its methods may be called from several goroutines.
type Writer struct {
	cfg Config
	db  *sql.DB
	enc *zstd.Encoder
	mu  sync.Mutex
	off bool // it keeps nothing more
}

func open(path, more string) (*sql.DB, error) {
	name := url.URL{
		Scheme: "file", OmitHost: true, Path: filepath.ToSlash(store.RealPath(path)),
		RawQuery: "_pragma=busy_timeout(5000)" + more,
	}
	return sql.Open("sqlite", name.String())
}

// Open opens the file, made if need be for its owner alone, and removes what is too old or too much. Where only pages
// are kept whose layout is not known, it waits for the first one.
func Open(cfg Config) (*Writer, error) {
	w := &Writer{cfg: cfg}
	if cfg.Days == 0 {
		return w, nil
	}
	return w, w.open()
}

func (w *Writer) open() error {
	err := store.MakeFile(w.cfg.Path, w.cfg.Beside)
	if err != nil {
		return err
	}
	if w.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(1<<20), zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
		return err
	}
	if w.db, err = open(w.cfg.Path, "&_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=cache_size(-500)"); err != nil {
		return err
	}
	w.db.SetMaxOpenConns(1)
	if _, err = w.db.ExecContext(context.Background(), schema); err == nil {
		err = w.addColumns()
	}
	if err == nil {
		err = w.prune()
	}
	if err != nil {
		return errors.Join(err, w.Close())
	}
	return nil
}

// addColumns brings a file up to date that an earlier version has made; another process may do so at the same time.
func (w *Writer) addColumns() error {
	ctx := context.Background()
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	var have int
	if err := tx.QueryRowContext(ctx, hasAsked).Scan(&have); err != nil || have > 0 {
		return err
	}
	for _, add := range [...]string{addMethod, addBody, addHeaders} {
		if _, err := tx.ExecContext(ctx, add); err != nil {
			return fmt.Errorf("bring %s up to date: %w", w.cfg.Path, err)
		}
	}
	return tx.Commit()
}

// Keep stores a page and returns its id, 0 = it is not kept. What fails is logged once, and ends it.
func (w *Writer) Keep(p Page, body []byte) (id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off || len(body) > maxBody || w.cfg.Days == 0 && p.Unknown == "" {
		return 0
	}
	id, err := w.keep(&p, body)
	if err != nil {
		w.off = true
		w.cfg.Logger.Warn().Err(err).Str("component", "kept").Str("file", w.cfg.Path).
			Msg("pages are not kept any more in this run; the crawl goes on. Free some space, or keep fewer, before the next one")
	}
	return id
}

func (w *Writer) keep(p *Page, body []byte) (id int64, err error) {
	if w.db == nil {
		if err := w.open(); err != nil {
			return 0, err
		}
	}
	err = w.db.QueryRowContext(context.Background(), insertPage, p.Key(), p.Number, string(p.Kind), p.URL, p.Status,
		p.ContentType, yp.FormatTime(p.FetchedAt),
		store.JSON(p.Target), p.BaseURL, p.Filter, p.Unknown, w.enc.EncodeAll(body, nil),
		cmp.Or(p.Method, http.MethodGet), append([]byte{}, p.Asked...), headersJSON(p.Header)).Scan(&id)
	if err == nil && p.Unknown != "" {
		_, err = w.db.ExecContext(context.Background(), deleteUnknown, p.Source, MaxUnknown)
	}
	if err == nil && id%pruneEvery == 0 {
		err = w.prune()
	}
	return id, err
}

// headersJSON is what is kept of an answer's headers.
func headersJSON(h http.Header) string {
	if len(h) == 0 {
		return "{}"
	}
	return store.JSON(h)
}

// prune removes what is too old, and the oldest of what is too much.
func (w *Writer) prune() error {
	if w.cfg.Free != nil {
		if free, err := w.cfg.Free(filepath.Dir(w.cfg.Path)); err == nil && free < spareBytes {
			return fmt.Errorf("only %d bytes are left on the disk", free)
		}
	}
	if _, err := w.db.ExecContext(context.Background(), deleteOld, yp.FormatTime(time.Now().AddDate(0, 0, -w.cfg.Days))); err != nil {
		return err
	}
	_, err := w.db.ExecContext(context.Background(), deleteFirst, w.cfg.MaxBytes)
	return err
}

// Close ends the keeping.
func (w *Writer) Close() error {
	if w == nil || w.db == nil {
		return nil
	}
	return w.db.Close()
}

// Reader reads the pages of a file.
type Reader struct {
	db     *sql.DB
	dec    *zstd.Decoder
	former bool // the file was made before the columns of what was asked
}

// OpenReader opens a file for reading; fs.ErrNotExist when there is none.
func OpenReader(path string) (*Reader, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() {
		err = folder.Readable(path)
	} else if err == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, folder.Denied(path, err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxBody))
	if err != nil {
		return nil, err
	}
	db, err := open(path, "&mode=ro&_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	have := 0
	err = db.QueryRowContext(context.Background(), hasAsked).Scan(&have) // what is wrong with the file is told by what reads a page
	return &Reader{db: db, dec: dec, former: err == nil && have == 0}, nil
}

// Newest returns the ids of the newest page of each target and number of a source, "" of all: those of a target
// together in the order of their numbers, the targets in the order of time.
func (r *Reader) Newest(ctx context.Context, source string) ([]int64, error) {
	return store.Column[int64](store.ReaderOf(ctx, r.db), newestPages, source)
}

// Read returns a page and its body.
func (r *Reader) Read(ctx context.Context, id int64) (*Page, []byte, error) {
	p := &Page{}
	var fetched, target, headers string
	var packed []byte
	query := readPage
	if r.former {
		query = readFormer
	}
	err := r.db.QueryRowContext(ctx, query, id).Scan(&p.Number, &p.URL, &p.Status, &p.ContentType, &fetched, &target,
		&p.BaseURL, &p.Filter, &p.Unknown, &packed, &p.Method, &p.Asked, &headers)
	if err != nil {
		return nil, nil, fmt.Errorf("read kept page %d: %w", id, err)
	}
	body, err := r.dec.DecodeAll(packed, nil)
	at, timeErr := yp.ParseTime(fetched)
	if len(p.Asked) == 0 {
		p.Asked = nil
	}
	if err := errors.Join(err, timeErr, json.Unmarshal([]byte(target), &p.Target), json.Unmarshal([]byte(headers), &p.Header)); err != nil {
		return nil, nil, fmt.Errorf("%w: %d: %w", ErrDamaged, id, err)
	}
	p.FetchedAt = at
	return p, body, nil
}

// Close lets go of the file.
func (r *Reader) Close() error {
	r.dec.Close()
	return r.db.Close()
}
