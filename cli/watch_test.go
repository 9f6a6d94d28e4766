package cli

import (
	"testing"
	"time"
)

func TestSpeed(t *testing.T) {
	t.Parallel()
	var s speedometer
	for i := range int64(601) { // ten minutes, the last of them twice as fast
		n := i
		if i > 540 {
			n += i - 540
		}
		got := s.rate(time.Duration(i)*time.Second, n)
		if want := 1.0; i == 500 && got != want {
			t.Errorf("after 500 s: %f, want %f", got, want)
		}
		if want := 2.0; i == 600 && got < 1.95 {
			t.Errorf("of the last minute: %f, want %f", got, want)
		}
	}
}
