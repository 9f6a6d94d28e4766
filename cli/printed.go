package cli

import (
	"io"
	"log" //nolint:depguard // to lead it into ours
	"strings"
	"sync/atomic"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"ypcrawl/yp"
)

// printed takes what the standard library prints by itself: net/http has a line for each odd thing that a server
// sends ("Unsolicited response received on idle HTTP channel"). They are lines of our log (debug), once there is one.
type printed struct {
	log atomic.Pointer[zerolog.Logger]
}

// take leads the standard library's log here, for as long as the process lasts.
func (p *printed) take() {
	log.SetFlags(0)
	log.SetOutput(p)
}

// Write implements io.Writer: b is one line.
func (p *printed) Write(b []byte) (int, error) {
	const most = 300 // bytes: it quotes what a server has sent
	if to := p.log.Load(); to != nil {
		to.Debug().Str("component", "net/http").Msg(yp.Printable(yp.Clip(strings.TrimSpace(string(b)), most)))
	}
	return len(b), nil
}

// logger writes to w, which is stderr or the display in front of it; what the standard library prints comes there, too.
func (p *Program) logger(c *cli.Context, w io.Writer) (zerolog.Logger, error) {
	log, err := p.Logger(c, w)
	if err == nil {
		p.printed.log.Store(&log)
	}
	return log, err
}
