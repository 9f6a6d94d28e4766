package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptSecret is what no file of a crawl may hold, in any of the forms in which a server may repeat it.
const scriptSecret = "s3cr3t/T0k3n+9f8e7d="

func secretForms() []string {
	return []string{
		scriptSecret, url.QueryEscape(scriptSecret), url.PathEscape(scriptSecret), strings.ReplaceAll(scriptSecret, "/", `\/`),
		base64.StdEncoding.EncodeToString([]byte(scriptSecret)), strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(scriptSecret)), "="),
	}
}

// guarded is a directory that wants the secret with every request, in a header, in the query and, by POST, in the body, and repeats
// it wherever it can. heard is all that the other server was sent, which is the proxy, too.
type guarded struct {
	url, other string

	mu    sync.Mutex
	heard []byte
}

const guardedPage = `<html><head><title>%[1]s</title></head><body><div id="dir-head" data-k="%[2]s">%[3]s</div>
<div class="firm" data-id="%[4]s"><h2>Acme %[1]s</h2><a class="own" href="/biz/%[4]s?k=%[2]s">own</a><i class="tel">(512) 555-0101</i></div>
%[5]s<script>var k = "%[6]s"</script></body></html>`

func (g *guarded) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		_, _ = fmt.Fprint(w, "User-agent: *\nDisallow: /", url.PathEscape(scriptSecret))
		return
	}
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Set-Cookie", "k="+url.QueryEscape(scriptSecret))
	w.Header().Set("X-Key", scriptSecret)
	var asked struct{ Key string }
	_ = json.Unmarshal(body, &asked)
	posted := r.Method != http.MethodPost || asked.Key == scriptSecret
	city, escaped := strings.Split(strings.Trim(r.URL.Path, "/"), "/")[0], url.QueryEscape(scriptSecret)
	if r.Header.Get("X-Key") != "Bearer "+scriptSecret || r.URL.Query().Get("k") != scriptSecret && city != "biz" || !posted {
		http.Error(w, "no "+scriptSecret, http.StatusUnauthorized)
		return
	}
	switch {
	case strings.HasPrefix(city, "houston"):
		http.Redirect(w, r, g.other+"/?k="+escaped, http.StatusFound)
		return
	case r.URL.Query().Get("s") == "" && city != "biz":
		http.Redirect(w, r, r.URL.RequestURI()+"&s="+escaped, http.StatusTemporaryRedirect)
		return
	}
	next, id := "", "1-"+city
	switch {
	case city == "biz":
		id = strings.TrimPrefix(r.URL.Path, "/biz/")
	case r.URL.Query().Get("page") == "2":
		id = "2-" + city
	default:
		next = fmt.Sprintf(`<a class="next" href="?page=2&amp;k=%s&amp;s=1">next</a>`, escaped)
	}
	quoted := strings.ReplaceAll(scriptSecret, "/", `\/`)
	_, _ = fmt.Fprintf(w, guardedPage, scriptSecret, escaped, base64.StdEncoding.EncodeToString([]byte("me:"+scriptSecret)), id, next, quoted)
}

// hear keeps all of a request, and answers with a page of the directory.
func (g *guarded) hear(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
	} else {
		_, _ = fmt.Fprintf(w, guardedPage, "x", "x", "x", "1-x", "", "x")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = fmt.Appendf(g.heard, "%s %s %v %s\n", r.Method, r.RequestURI, r.Header, body)
}

// secretKey is of the guarded directory of a script.
type secretKey struct{}

// cmdServeSecret is `serve-secret FILE...`: a directory that wants a secret, at $URL, and another server at $OTHER. ORIGIN in the files
// becomes the address of the first. $SECRET is the secret.
func cmdServeSecret(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, true, "serve-secret FILE...")
	g := &guarded{}
	other := httptest.NewServer(http.HandlerFunc(g.hear))
	ts.Defer(other.Close)
	g.other = other.URL
	serve(ts, http.HandlerFunc(g.serve))
	g.url = ts.Getenv("URL")
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "ORIGIN", g.url)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
	ts.Setenv("OTHER", other.URL)
	ts.Setenv("SECRET", scriptSecret)
	*ts.Value(secretKey{}).(**guarded) = g
}

// cmdSecretNowhere is `secret-nowhere`: no file below the script's folder holds the secret, also none that is packed, and the other
// server was never sent it, though it was asked.
func cmdSecretNowhere(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 0, "secret-nowhere")
	g := *ts.Value(secretKey{}).(**guarded)
	g.mu.Lock()
	heard := bytes.Clone(g.heard)
	g.mu.Unlock()
	if len(heard) == 0 {
		ts.Fatalf("the other server was asked for nothing")
	}
	noSecret(ts, "the other server", heard)
	files, pages := 0, 0
	ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if err == nil {
			noSecret(ts, path, data)
			noSecret(ts, path+", unpacked", unpacked(ts, data))
		}
		if strings.HasSuffix(path, ".pages") {
			pages += noSecretIn(ts, path)
		}
		return err
	}))
	if files == 0 || pages == 0 {
		ts.Fatalf("%d files and %d kept pages were looked at", files, pages)
	}
}

func noSecret(ts *testscript.TestScript, where string, data []byte) {
	for _, form := range secretForms() {
		if i := bytes.Index(data, []byte(form)); i >= 0 {
			ts.Fatalf("%s holds the secret as %s: %q", where, form, data[max(0, i-200):min(len(data), i+200)])
		}
	}
}

// unpacked is what a packed file holds; nil = it is not packed.
func unpacked(ts *testscript.TestScript, data []byte) []byte {
	if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		data, err := io.ReadAll(z)
		ts.Check(err)
		return data
	}
	z, err := zstd.NewReader(nil)
	ts.Check(err)
	defer z.Close()
	text, _ := z.DecodeAll(data, nil) // most files are none
	return text
}

// noSecretIn looks at the kept pages of a file and returns how many there are.
func noSecretIn(ts *testscript.TestScript, path string) (n int) {
	db := openSQLite(ts, path, "ro")
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(context.Background(), "SELECT body FROM pages")
	ts.Check(err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var body []byte
		ts.Check(rows.Scan(&body))
		text := unpacked(ts, body)
		if !bytes.Contains(text, []byte("${TOKEN}")) {
			ts.Fatalf("a kept page has no name of a secret: %q", text)
		}
		noSecret(ts, path, text)
		n++
	}
	ts.Check(rows.Err())
	return n
}
