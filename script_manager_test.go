package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdManager is `manager [MICROSECONDS]`: listens as a service manager does, at $NOTIFY_SOCKET,
// with a watchdog.
func cmdManager(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) <= 1, "manager [MICROSECONDS]")
	dir, err := os.MkdirTemp("", "manager") // the path of a socket is short
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(dir, "s")})
	ts.Check(err)
	ts.Defer(func() { _ = conn.Close() })
	ts.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "s"))
	st := stateOf(ts)
	st.vars = append(st.vars, "NOTIFY_SOCKET="+filepath.Join(dir, "s")) // for `start`
	for _, usec := range args {
		st.vars = append(st.vars, "WATCHDOG_USEC="+usec)
	}
	st.heard = newSignalBuffer()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			_, _ = st.heard.Write(append(buf[:n:n], '\n'))
		}
	}()
}

// cmdManagerHeard is `manager-heard REGEXP`: the service manager hears it, in the end.
func cmdManagerHeard(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "manager-heard REGEXP")
	re, b := regexp.MustCompile("(?m)"+args[0]), stateOf(ts).heard
	late := time.After(30 * time.Second)
	for !re.MatchString(b.String()) {
		select {
		case <-b.written:
		case <-late:
			ts.Fatalf("the service manager never heard %s, but:\n%s", args[0], b)
		}
	}
}
