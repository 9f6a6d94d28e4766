package demo_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ypcrawl/crawl/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client whose idle connections end with the test.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func serve(t *testing.T, cfg demo.Config) *demo.Server {
	t.Helper()
	d, _ := setup(t, cfg)
	s, err := demo.Serve(t.Context(), "", d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func fetch(ctx context.Context, c *http.Client, url string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

func TestServe(t *testing.T) {
	t.Parallel()
	s := serve(t, demo.Config{})
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Errorf("URL %s", s.URL())
	}
	resp, body, err := fetch(t.Context(), client(t), s.URL()+"/austin-tx/plumbers")
	if err != nil || resp.StatusCode != http.StatusOK || len(body) < 150_000 {
		t.Errorf("%d bytes, %+v, %v", len(body), resp, err)
	}
}

// TestCloseIsBounded: requests that are being held do not keep Close waiting.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{Fail: map[string]float64{"timeout": 1}})
	s, err := demo.Serve(t.Context(), "127.0.0.1:0", d)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	c := client(t)
	go func() {
		_, _, err := fetch(context.Background(), c, s.URL()+"/austin-tx/plumbers")
		ended <- err
	}()
	for d.Stats().ByFailure["timeout"] == 0 { // until the request is held
		select {
		case err := <-ended:
			t.Fatalf("ended before Close: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	started := time.Now()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("Close took %v", took)
	}
	if err := <-ended; err == nil {
		t.Error("the held request got an answer")
	}
}

// TestRefused: failures, epochs and addresses that there are not.
func TestRefused(t *testing.T) {
	t.Parallel()
	d, g := setup(t, demo.Config{})
	if _, err := demo.New(demo.Config{Fail: map[string]float64{"418": 0.1}}, g); !errors.Is(err, demo.ErrFailSpec) {
		t.Errorf("a failure: %v", err)
	}
	if err := d.SetEpoch(demo.MaxEpoch + 1); !errors.Is(err, demo.ErrEpoch) {
		t.Errorf("an epoch: %v", err)
	}
	for _, addr := range []string{"127.0.0.1", "127.0.0.1:http-nonsense", "256.1.1.1:0"} {
		if s, err := demo.Serve(t.Context(), addr, d); err == nil {
			t.Errorf("%q: no error, %s", addr, s.URL())
			_ = s.Close()
		}
	}
}
