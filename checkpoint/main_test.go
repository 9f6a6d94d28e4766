package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func TestMain(m *testing.M) {
	parts := map[string]func([]string) error{}
	for _, part := range []string{"hold", "exclusive", "finish"} {
		parts[part] = func(args []string) error { return child(part, args[0], args[1]) }
	}
	storetest.Main(m, propertyChecks, parts)
}

// child opens the database at path and plays a part of a run there.
func child(part, path, states string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Path: path, MustExist: true, Synchronous: "OFF"})
	if err != nil {
		return err
	}
	k := checkpoint.New(db)
	run, err := k.StartRun(ctx, 1, part, part == "exclusive")
	if err != nil {
		return err
	}
	scope := store.Scope{SourceID: 1, States: strings.Split(states, ",")}
	switch part {
	case "hold", "exclusive": // three claims, and then nothing until it is killed
		for i := range 3 {
			if _, err := k.Claim(ctx, checkpoint.Worker{ID: yp.WorkerID(i, os.Getpid()), RunID: run.ID}, scope, 5); err != nil {
				return err
			}
		}
		fmt.Println("holds", run.ID)
		_, _ = os.Stdin.Read(make([]byte, 1))
		return nil
	case "finish": // claims one target, and at the end of its input all there is
		c, err := k.Claim(ctx, checkpoint.Worker{ID: yp.WorkerID(9, os.Getpid()), RunID: run.ID}, scope, 1000)
		if err != nil {
			return err
		}
		fmt.Println("claimed", c.TargetID)
		if _, err := io.ReadAll(os.Stdin); err != nil {
			return err
		}
		err = errors.Join(finishAll(ctx, k, run, scope), k.Complete(ctx, c, yp.CodeNoListings, "none", checkpoint.End{How: yp.EndSaid}))
		return errors.Join(err, run.Finish(ctx, checkpoint.OutcomeDone, 0), db.Close())
	}
	return fmt.Errorf("no such part: %s", part)
}

func finishAll(ctx context.Context, k *checkpoint.Keeper, run *checkpoint.Run, scope store.Scope) error {
	errs := make(chan error, 4)
	for i := range cap(errs) {
		go func() {
			w := checkpoint.Worker{ID: yp.WorkerID(i, os.Getpid()), RunID: run.ID}
			for {
				c, err := k.Claim(ctx, w, scope, 1000)
				if errors.Is(err, checkpoint.ErrNothing) {
					errs <- nil
					return
				}
				if err == nil {
					fmt.Println("claimed", c.TargetID)
					err = k.Complete(ctx, c, yp.CodeNoListings, "none", checkpoint.End{How: yp.EndSaid})
				}
				if err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var all error
	for range cap(errs) {
		all = errors.Join(all, <-errs)
	}
	return all
}

func start(t *testing.T, part, path, states string) *storetest.Process {
	t.Helper()
	return storetest.Command(t, part, path, states).Begin(t)
}
