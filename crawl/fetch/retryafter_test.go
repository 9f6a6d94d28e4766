package fetch

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	tests := []struct {
		name, value, date string
		want              time.Duration
		ok                bool
	}{
		{"absent", "", "", 0, false},
		{"seconds", "120", "", 2 * time.Minute, true},
		{"seconds with space", " 7 ", "", 7 * time.Second, true},
		{"zero", "0", "", time.Second, true},
		{"an hour and more", "7200", "", time.Hour, true},
		{"absurd", "99999999999999999999999999", "", time.Hour, true},
		{"negative", "-5", "", 0, false},
		{"signed", "+5", "", 0, false},
		{"fraction", "1.5", "", 0, false},
		{"a word", "soon", "", 0, false},
		{"date", date(90 * time.Second), "", 90 * time.Second, true},
		{"RFC 850 date", now.Add(time.Minute).Format("Monday, 02-Jan-06 15:04:05 GMT"), "", time.Minute, true},
		{"asctime date", now.Add(time.Minute).Format(time.ANSIC), "", time.Minute, true},
		{"date gone by", date(-time.Hour), "", time.Second, true},
		{"date far away", date(1000 * time.Hour), "", time.Hour, true},
		{"date by the server's own clock", date(26 * time.Hour), date(26*time.Hour - 10*time.Second), 10 * time.Second, true},
		{"bad Date beside it", date(10 * time.Second), "yesterday", 10 * time.Second, true},
		{"broken date", "Fri, 99 Foo 2026 12:00:00 GMT", "", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{"Retry-After": {tt.value}, "Date": {tt.date}}
			got, ok := retryAfter(h, now)
			if got != tt.want || ok != tt.ok {
				t.Errorf("%q: %s, %v; want %s, %v", tt.value, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, v := range []string{"120", "-1", "1e9", "Fri, 20 Nov 2026 12:00:00 GMT", "99999999999999999999"} {
		f.Add(v, "")
		f.Add(v, "Fri, 20 Nov 2026 11:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		d, ok := retryAfter(http.Header{"Retry-After": {value}, "Date": {date}}, time.Unix(1_700_000_000, 0))
		if ok && (d < minRetryAfter || d > maxRetryAfter) || !ok && d != 0 {
			t.Errorf("%q: %s, %v", value, d, ok)
		}
	})
}
