package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// backlog is how many events a viewer may be behind.
const backlog = 8

// feed follows one address: one goroutine looks at it once a second and hands the same bytes to
// all who look on. It lives as long as there is one.
type feed struct {
	viewers map[chan []byte]struct{} // guarded by Server.mu
	quit    chan struct{}
}

// follow sends what changes of a view until the viewer or the server is gone. The viewer joins before it looks: what
// changes in between reaches it.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, v View, q url.Values) {
	news, leave := s.join(v, q)
	if news == nil {
		w.Header().Set("Retry-After", "30")
		s.refuse(w, r, http.StatusServiceUnavailable, "Too many browsers follow the page already.",
			"The page is shown but does not update: reload it now and then.")
		return
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopped, cancel)()
	now, refused := s.look(ctx, v, q, map[string]*last{})
	if refused != nil {
		s.refuse(w, r, refused.Status, refused.Text, refused.Next)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep back what it has no full buffer of
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // that of the request, which has been read: it would end the stream
	send := func(b []byte) bool {
		if out.SetWriteDeadline(time.Now().Add(s.sendTime)) != nil {
			return false
		}
		_, err := w.Write(b)
		return err == nil && out.Flush() == nil
	}
	if !send(append([]byte("retry: 2000\n\n"), frames(now)...)) {
		return
	}
	for {
		select {
		case b, ok := <-news:
			if !ok || !send(b) { // too slow, or gone
				return
			}
		case <-r.Context().Done():
			return
		case <-s.stopped.Done():
			send(s.lastEvent())
			return
		}
	}
}

// lastEvent says why the server stops, or has the page loaded again where another one answers.
func (s *Server) lastEvent() []byte {
	cause, text := context.Cause(s.stopped), "the program has stopped"
	if errors.Is(cause, errSucceeded) {
		return frame("reload", nil)
	}
	if ended, ok := errors.AsType[Ended](cause); ok {
		text = string(ended)
	}
	return frame("end", map[string]string{"text": text})
}

// join adds a viewer to the feed of an address; nil when there are too many.
func (s *Server) join(v View, q url.Values) (news chan []byte, leave func()) {
	address := v.Path + "?" + q.Encode()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count >= s.cfg.Viewers {
		return nil, nil
	}
	s.count++
	f := s.feeds[address]
	if f == nil {
		f = &feed{viewers: map[chan []byte]struct{}{}, quit: make(chan struct{})}
		s.feeds[address] = f
		go s.watch(f, v, q)
	}
	news = make(chan []byte, backlog)
	f.viewers[news] = struct{}{}
	return news, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count--
		if delete(f.viewers, news); len(f.viewers) == 0 && s.feeds[address] == f {
			delete(s.feeds, address)
			close(f.quit)
		}
	}
}

// watch looks at a view once a second and sends the parts that have changed.
func (s *Server) watch(f *feed, v View, q url.Values) {
	again, stop := s.tick(s.cfg.Every)
	defer stop()
	seen := map[string]*last{}
	var spoke time.Time
	for {
		select {
		case <-f.quit:
			return
		case <-s.stopped.Done():
			return
		case <-again():
		}
		fragments, _ := s.look(s.stopped, v, q, seen) // none of one that is refused: the page keeps what it shows, and hears that we live
		news := frames(slices.DeleteFunc(fragments, func(p fragment) bool {
			was := seen[p.ID]
			same := was.hash == p.Hash
			was.hash = p.Hash
			return same
		}))
		if now := s.now(); len(news) > 0 || now.Sub(spoke) >= s.beatEvery {
			if len(news) == 0 {
				news = frame("beat", nil)
			}
			spoke = now
			s.hand(f, news)
		}
	}
}

// hand gives news to every viewer; one that is too far behind is dropped, not waited for.
func (s *Server) hand(f *feed, news []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range f.viewers {
		select {
		case v <- news:
		default:
			delete(f.viewers, v)
			close(v)
		}
	}
}

func frames(fragments []fragment) []byte {
	var out bytes.Buffer
	for _, f := range fragments {
		out.Write(frame("part", f))
	}
	return out.Bytes()
}

// frame is one event. JSON has no line ends, which would end its data.
func frame(name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts alone
	}
	return append(append([]byte("event: "+name+"\ndata: "), data...), "\n\n"...)
}
