package web

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ypcrawl/cli/export"
	"ypcrawl/store"
	"ypcrawl/store/report"
)

// A download is read in batches: no snapshot of the database is held while the client takes one, else a client that takes nothing would
// keep SQLite from reusing the -wal.
const (
	downloadsAtOnce = 2
	batchRows       = 2000
	batchTime       = 30 * time.Second // to read a batch
	takeTime        = 30 * time.Second // for the client to take it
)

// download sends what an address has chosen of a list, all of it, as a CSV file. Rows are in the order of what is unique of them: each
// is there once that was there throughout, whatever changes in the meantime. What is cut off is seen to be cut off.
func (s *Server) download(path string, l report.List) http.Handler {
	v := View{Parts: []Part{{Asks: asks(l)}}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cfg.Reader == nil {
			s.refuse(w, r, http.StatusNotFound, "There is no crawl yet.", "The start page says how to begin.")
			return
		}
		select {
		case s.downloads <- struct{}{}:
			defer func() { <-s.downloads }()
		default:
			w.Header().Set("Retry-After", "30")
			s.refuse(w, r, http.StatusServiceUnavailable, "Two downloads are already in progress.", "Try again when one of them has finished.")
			return
		}
		d := &downloading{s: s, l: l, path: path, q: parameters(v, r)}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.stopped, cancel)()
		err := d.next(ctx) // before anything is sent: what is asked may be refused
		if refused := refusal(err); refused != nil {
			s.refuse(w, r, refused.Status, refused.Text, refused.Next)
			return
		}
		if err != nil {
			next := "Filter the list to fewer rows, or try again in a moment."
			if errors.Is(err, store.ErrReplaced) {
				next = "Load the page again in a moment."
			}
			s.refuse(w, r, http.StatusServiceUnavailable, "The list can't be read now: "+s.why(err)+".", next)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="`+path[1:]+"-"+s.now().UTC().Format(time.DateOnly)+`.csv"`)
		h.Set("X-Accel-Buffering", "no")
		if r.Method == http.MethodHead {
			return
		}
		if err := d.send(ctx, w); err != nil {
			s.cfg.Logger.Debug().Str("component", "web").Str("path", path).Err(err).Msg("a download was cut off")
			panic(http.ErrAbortHandler) // the server ends the connection, and says nothing
		}
	})
}

// downloading is a download under way.
type downloading struct {
	s     *Server
	l     report.List
	path  string
	q     url.Values
	after report.Place
	ended bool
	text  bytes.Buffer // of the batch that was read
	out   export.Writer
}

// Head implements report.Rows.
func (d *downloading) Head(columns []string) (err error) {
	if d.out == nil {
		d.out, err = export.New(&d.text, export.CSV, export.Options{Columns: columns, BOM: true})
	}
	return err
}

// Row implements report.Rows.
func (d *downloading) Row(values []any) error { return d.out.Write(values) }

// next reads a batch, in a place among the looks that are under way.
func (d *downloading) next(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	select {
	case d.s.reading <- struct{}{}:
		defer func() { <-d.s.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := d.s.cfg.Reader.InPlace(); err != nil {
		return err
	}
	d.text.Reset()
	return d.s.cfg.Reader.Snapshot(ctx, func(k *report.Reader) error {
		choice, err := d.s.choose(ctx, k, d.path, d.l, d.q)
		if err != nil {
			return err
		}
		choice.Columns, choice.Sort, choice.Limit = strings.Fields(d.l.Show), report.ByKey, batchRows
		if d.after, err = k.Part(ctx, d.l, choice, d.after, d); err != nil {
			return err
		}
		d.ended = d.after == nil
		return d.out.Close()
	})
}

// send sends the batch that was read, and all that follow.
func (d *downloading) send(ctx context.Context, w http.ResponseWriter) error {
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // that of the request, which has been read: it would end the download
	endsByReset(ctx, true)               // net/http closes a connection on which a write failed
	for {
		if err := out.SetWriteDeadline(time.Now().Add(d.s.takeTime)); err != nil {
			return err
		}
		_, err := w.Write(d.text.Bytes())
		if err = errors.Join(err, out.Flush()); err != nil {
			return err
		}
		if d.ended {
			endsByReset(ctx, false)
			return nil
		}
		if err := d.next(ctx); err != nil {
			return err
		}
	}
}

// endsByReset chooses how a connection ends from now on, whoever ends it: by a reset, so that who reads from it knows that there was
// more, even a proxy that speaks HTTP/1.0 with us, or as usual.
func endsByReset(ctx context.Context, reset bool) {
	if tcp, ok := ctx.Value(connKey{}).(*net.TCPConn); ok {
		_ = tcp.SetLinger(map[bool]int{true: 0, false: -1}[reset]) // it fails where the connection has ended
	}
}
