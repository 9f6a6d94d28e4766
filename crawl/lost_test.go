package crawl_test

import (
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/yp"
)

// TestClaimLost takes a target away while its worker has a page in hand, and
// gives it to a worker of another process with the same name.
func TestClaimLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		page  http.HandlerFunc
		stop  bool
		story string
	}{
		{"by a commit", ok(page("", shops(1, 3)...)), false, "start page:1 claim_lost start page:1 complete"},
		{"by a failure", status(403, shell("no")), false, "start claim_lost start page:1 complete"},
		{"by an empty result", ok(noResults()), false, "start claim_lost start page:1 complete"},
		{"by a missing page", status(404, shell("none")), false, "start claim_lost start page:1 complete"},
		{"by a release", ok(page(target+"?page=2", shops(1, 3)...)), true, "start page:1 claim_lost"},
	} {
		parallel(t, "is noticed "+tt.name, func(t *testing.T) {
			w := setup(t, layout{cities: 2})
			other := w.peer()
			var theirs *checkpoint.Claim
			e := w.engine()
			w.on(target, func(rw http.ResponseWriter, r *http.Request) {
				w.write("UPDATE targets SET heartbeat_at = NULL WHERE id = 1")
				if _, err := other.keeper.RecoverStale(t.Context(), w.scope, time.Hour); err != nil {
					t.Error(err)
				}
				var err error
				me := checkpoint.Worker{ID: yp.WorkerID(0, os.Getpid()), RunID: other.run.ID}
				if theirs, err = other.keeper.Claim(t.Context(), me, w.scope, 5); err != nil || theirs.TargetID != 1 {
					t.Errorf("the other keeper claimed %+v, %v", theirs, err)
				}
				if tt.stop {
					e.Stop(crawl.ErrInterrupted)
				}
				tt.page(rw, r)
			})
			err := w.crawl(e)
			if tt.stop {
				endedBy(t, err, crawl.ErrInterrupted)
			} else if err != nil {
				t.Errorf("the run ended with %v", err)
			}
			w.logged(tt.story)
			r := w.is(1, yp.InProgress, 0, "")
			if r.Token != theirs.Token || r.Token != 2 || r.Accepted != 0 {
				t.Errorf("the late worker wrote: %+v", r)
			}
			w.counts("listings of the lost page were stored", 0, "SELECT count(*) FROM listings WHERE listing_id IN ('1', '2', '3')")
			if st := e.Stats(); st.Lost != 1 || st.Failed+st.Parked != 0 {
				t.Errorf("stats %+v", st)
			}
			asked := slices.DeleteFunc(w.asked(), func(uri string) bool { return uri == city(1) })
			w.counts("requests of the lost claim on record", int64(len(asked)),
				"SELECT count(*) FROM requests WHERE target_id = 1 AND claim_token = 1")
			w.attempted("recovered", "running")
			w.tidy()
			if _, err := other.keeper.CommitPage(t.Context(), theirs, yp.Page{Number: 1, Last: true}); err != nil {
				t.Errorf("the holder can't go on: %v", err)
			}
		})
	}
}
