package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/pgdev"
	"countersign/store/transfer"
)

// TestMoveIsAloneBesideABotAtRest: the connections of a bot's transactions have all come to the end of their lives, as
// they do once an hour, and the next ones are not made yet. It hands out jobs all the same, and its store is not moved.
func TestMoveIsAloneBesideABotAtRest(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	s := openJobs(t, url, jobSettings{})
	handled := make(chan string, 1)
	stop := dispatch(t, s, func(_ context.Context, j approvals.Job) error {
		handled <- j.ID
		return nil
	})
	enqueueJobs(t, s, job("run_1"))
	await(t, "the job", handled)
	s.clicks.Reset()
	s.work.Reset()
	from, err := OpenSource(t.Context(), url, Config{})
	if !errors.Is(err, transfer.ErrInUse) {
		t.Errorf("moving the store of a bot that runs: %v", err)
	}
	if err == nil {
		from.Close()
	}
	stop()
	s.Close()
	from, err = OpenSource(t.Context(), url, Config{})
	if err != nil {
		t.Fatalf("control: when it has ended: %v", err)
	}
	from.Close()
}

// TestMoveStaysAlone: also where the server ends sessions that are idle for a while, as the one that holds the lock of
// a move is for as long as that takes.
func TestMoveStaysAlone(t *testing.T) {
	t.Parallel()
	server := pgdev.Start(t)
	server.Exec(t, "postgres", "create database impatient")
	url := server.URL("impatient")
	if err := openStore(t, url, Config{}).Close(); err != nil {
		t.Fatal(err)
	}
	server.Exec(t, "postgres", "alter database impatient set idle_session_timeout = '200ms'")
	from, err := OpenSource(t.Context(), url, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	time.Sleep(time.Second)
	s, err := Open(t.Context(), url, Config{})
	if !errors.Is(err, transfer.ErrInUse) {
		t.Errorf("a bot's start while its store is moved: %v", err)
	}
	if err == nil {
		s.Close()
	}
}
