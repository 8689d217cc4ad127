package storetest_test

import (
	"context"
	"fmt"
	"time"

	"countersign/approvals"
	"countersign/store/storetest"
)

// Two processes share a store that does what a store may: closures run twice, commits are not always known of, jobs
// come late and more than once. Three weeks pass at once.
func ExampleMemory() {
	data := storetest.NewMemory().Unreliable(storetest.Havoc(1))
	data.Step(-time.Hour) // before a store is open: its clock is not the process's

	ctx, cancel := context.WithCancel(context.Background())
	handled := make(chan string, 100)
	ended := make(chan error)
	for range 2 {
		replica := data.Open()
		defer replica.Close()
		go func() {
			ended <- replica.Dispatch(ctx, func(_ context.Context, j approvals.Job) error {
				handled <- fmt.Sprint(j.Kind, " ", j.ID)
				return nil
			})
		}()
	}

	store := data.Open()
	defer store.Close()
	err := approvals.ErrCommitUnknown
	for err == approvals.ErrCommitUnknown { // enqueueing twice does no harm
		err = store.Update(ctx, func(tx approvals.Tx) error {
			due := tx.Now().Add(21 * 24 * time.Hour)
			return tx.Enqueue(approvals.Job{Workspace: "T1", Kind: approvals.JobTimer, ID: "req_1", Due: due})
		})
	}
	fmt.Println(len(handled), "jobs handled, error:", err)

	data.Advance(21 * 24 * time.Hour)
	fmt.Println(<-handled)

	data.Unreliable(storetest.Chaos{}) // the faults stop
	cancel()
	fmt.Println(<-ended, <-ended)
	// Output:
	// 0 jobs handled, error: <nil>
	// expire req_1
	// <nil> <nil>
}
