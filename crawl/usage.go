package crawl

import (
	"time"

	"ypcrawl/checkpoint"
)

// usage is what the process uses of its machine now.
func usage() checkpoint.Usage {
	return checkpoint.Usage{Memory: residentBytes(), CPU: processorTime()}
}

// meter says what the process uses of its machine from one reading to the next.
type meter struct {
	cpu time.Duration
	at  time.Time // by a clock that nobody sets
}

// read is usage with the share of a processor since the last reading; the first one has none.
func (m *meter) read() checkpoint.Usage {
	u, now := usage(), time.Now()
	if span := now.Sub(m.at); m.cpu > 0 && u.CPU >= m.cpu && span > 0 {
		percent := 100 * float64(u.CPU-m.cpu) / float64(span)
		u.Percent = &percent
	}
	m.cpu, m.at = u.CPU, now
	return u
}
