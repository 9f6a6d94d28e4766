package wal

import (
	"errors"
	"fmt"
	"os"
	"time"

	"ypcrawl/yp"
)

// WriteExample writes a small log into dir, to try readers on: a target of two
// pages done, one in error, and a last line that a kill cut off. It returns
// the file's path; an example that is there already is an error.
func WriteExample(dir string, now func() time.Time) (string, error) {
	const worker = "worker_0_pid_1"
	log, err := Create(Config{Dir: dir, WorkerID: worker, Now: now})
	if err != nil {
		return "", err
	}
	path := log.Path()
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return "", errors.Join(fmt.Errorf("%s exists already: name another folder", path), log.Close())
	}
	done := &Target{ID: 1, ClaimToken: 1, Kind: yp.KindSearch, Source: "demo", Priority: 1, MaxPages: 3, Place: yp.Place{
		City: "Austin", CitySlug: "austin-tx", State: "TX", Category: "Plumbers", CategorySlug: "plumbers",
	}}
	failed := *done
	failed.ID, failed.Category, failed.CategorySlug = 2, "Dentists", "dentists"
	page := func(n int, last bool, id, name string) *yp.Page {
		return &yp.Page{Number: n, Raw: 1, Accepted: 1, Last: last, Listings: []yp.Listing{{
			ID: id, Name: name, Rank: n, Phone: "(512) 555-0123", PhoneE164: "+15125550123", City: "Austin", State: "TX",
		}}}
	}
	for _, e := range []Event{
		{Type: TargetStart, Status: yp.InProgress, Target: done},
		{Type: PageComplete, Status: yp.InProgress, Target: done, Page: page(1, false, "1001", "Example Plumbing")},
		{Type: PageComplete, Status: yp.InProgress, Target: done, Page: page(2, true, "1002", "Second Example & Sons")},
		{Type: TargetComplete, Status: yp.Done, Target: done},
		{Type: TargetStart, Status: yp.InProgress, Target: &failed},
		{Type: TargetError, Status: yp.Failed, Target: &failed, ErrorCode: yp.CodeTimeout, Error: "fetch: timeout"},
	} {
		if err == nil {
			err = log.Append(&e)
		}
	}
	if err := errors.Join(err, log.Close()); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(`{"timestamp":"2026-11-`) // as a kill leaves it
	return path, errors.Join(err, f.Close())
}
