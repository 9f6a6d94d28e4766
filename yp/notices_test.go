package yp

import "testing"

func TestParseNoticeEvent(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]NoticeEvent{"quarantine": NoticeQuarantine, " Dead-Letters ": NoticeDeadLetters, "run_failed": NoticeRunFailed} {
		if got, err := ParseNoticeEvent(word); err != nil || got != want {
			t.Errorf("%q: %q, %v", word, got, err)
		}
	}
	for word, want := range map[string]string{
		"quarantin": `unknown event "quarantin": did you mean quarantine?`,
		"xyzzy":     `unknown event "xyzzy": want one of quarantine, layout, dead_letters, dropped, claim_retries, fewer_listings, run_failed`,
		"test":      "",
	} {
		if got, err := ParseNoticeEvent(word); err == nil || want != "" && err.Error() != want {
			t.Errorf("%q: %q, %v", word, got, err)
		}
	}
}
