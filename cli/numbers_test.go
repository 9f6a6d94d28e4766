package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/kept"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// TestNumbersInHelp: what help says in numbers is what the constants say. TestManual holds the documents to the help.
func TestNumbersInHelp(t *testing.T) {
	t.Parallel()
	ordinals := map[int]string{2: "half", 3: "a third", 4: "a quarter", 10: "a tenth", 20: "a twentieth"}
	manual, err := os.ReadFile("../docs/cli.md")
	storetest.NoError(t, err)
	text := strings.Join(strings.Fields(string(manual)), " ")
	days := func(d time.Duration) int { return int(d / (24 * time.Hour)) }
	for _, want := range []string{
		fmt.Sprintf("If an index lacks more than %d of the cities known before, and more than %s of them, none is removed until the next read lacks them, too",
			checkpoint.FewLacking, ordinals[checkpoint.LackingShare]),
		fmt.Sprintf("An index begun more than %d hours ago starts over", checkpoint.IndexRest/time.Hour),
		fmt.Sprintf("read the source's index of the cities of each state, if it was not read in the last %d days", days(checkpoint.IndexAgain)),
		fmt.Sprintf("Each page is fetched again after the time that the source's definition sets (%d days)", days(checkpoint.DetailsEvery)),
		fmt.Sprintf("it has been silent for %d minutes", store.SilentElsewhere/time.Minute),
		fmt.Sprintf("a run has sent no heartbeat for %d minutes", store.SilentElsewhere/time.Minute),
		fmt.Sprintf("targets have been held for %d minutes by a run that died", orphansAfter/time.Minute),
		fmt.Sprintf("a crawl keeps %d pages of unknown layout per source", kept.MaxUnknown),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no help says %q", want)
		}
	}
}
