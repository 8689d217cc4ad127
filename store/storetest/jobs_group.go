package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

// jobGroups is about jobs that do not wait for each other.
func jobGroups() []promise {
	return []promise{
		{"JobParallel", "one slow run must not hold up the others", testJobParallel},
		{"JobKindsApart", "cards are delivered however many runs are busy", testJobKindsApart},
		{"JobGroups",
			"however many slow tools run for one channel, another channel's run begins at once", testJobGroups},
	}
}

func testJobParallel(s *suite) {
	both := make(chan struct{})
	met := make(chan struct{}, 2)
	defer s.dispatch(func(ctx context.Context, _ approvals.Job) error {
		select {
		case both <- struct{}{}:
		case <-both:
		case <-ctx.Done():
			return ctx.Err()
		}
		met <- struct{}{}
		return nil
	})()
	s.enqueue(job("a"), job("b"))
	await(s, "two handlers to meet", met)
	await(s, "two handlers to meet", met)
}

func testJobKindsApart(s *suite) {
	busy, delivered := make(chan struct{}, 1), make(chan struct{}, 1)
	stop := s.dispatch(func(ctx context.Context, j approvals.Job) error {
		if j.Kind == approvals.JobDeliver {
			signal(delivered)
			return nil
		}
		signal(busy)
		<-ctx.Done()
		return ctx.Err()
	})
	defer stop()
	var runs []approvals.Job
	for i := range 200 {
		runs = append(runs, job(fmt.Sprint(i)))
	}
	s.enqueue(runs...)
	await(s, "a busy run", busy)
	s.enqueue(approvals.Job{Workspace: ws, Kind: approvals.JobDeliver, ID: "card", Due: time.Now()})
	await(s, "a delivery beside 200 busy runs", delivered)
}

func testJobGroups(s *suite) {
	for _, slow := range []int{16, 200} {
		busy, quick := make(chan struct{}, 1), make(chan string, 10)
		stop := s.dispatch(func(ctx context.Context, j approvals.Job) error {
			if j.Group != "slow" {
				quick <- j.ID
				return nil
			}
			signal(busy)
			<-ctx.Done()
			return ctx.Err()
		})
		var jobs []approvals.Job
		for i := range slow {
			j := job(fmt.Sprint(i))
			j.Group = "slow"
			jobs = append(jobs, j)
		}
		s.enqueue(jobs...)
		await(s, "a handler that does not return", busy)
		for _, group := range []string{"quick", "another", ""} {
			j := job(fmt.Sprint("beside ", slow, " handlers, of group ", group))
			j.Group = group
			s.enqueue(j)
			if id := await(s, "job "+j.ID, quick); id != j.ID {
				s.Errorf("%q was handled, want %q", id, j.ID)
			}
		}
		stop()
		s.update(func(tx approvals.Tx) error {
			var err error
			for _, j := range jobs {
				err = errors.Join(err, tx.DeleteJob(j.Workspace, j.Kind, j.ID))
			}
			return err
		})
	}
}
