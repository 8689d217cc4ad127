package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"countersign/approvals"
)

var (
	pendingDesc     = prometheus.NewDesc("countersign_requests_pending", "Requests that wait for people.", nil, nil)
	deadLettersDesc = prometheus.NewDesc("countersign_dead_letters",
		"Notifications that could not be delivered and were given up; see the command outbox.", nil, nil)
)

// waitingAge is how old the numbers of what waits may be. Counting reads all of it.
const waitingAge = 10 * time.Second

// waiting are the numbers of what waits for people.
type waiting struct {
	requests, letters float64
	counted           time.Time
}

// count brings the numbers up to date when they are too old.
func (w *waiting) count(ctx context.Context, st approvals.Store, all []approvals.WorkspaceID) error {
	if time.Since(w.counted) < waitingAge {
		return nil
	}
	requests, letters := 0, 0
	for _, ws := range all {
		n, err := countPending(ctx, st, ws)
		if err != nil {
			return err
		}
		requests += n
		if n, err = countLetters(ctx, st, ws); err != nil {
			return err
		}
		letters += n
	}
	*w = waiting{float64(requests), float64(letters), time.Now()}
	return nil
}

func countPending(ctx context.Context, st approvals.Store, ws approvals.WorkspaceID) (n int, err error) {
	q := approvals.RequestQuery{Workspace: ws, Status: approvals.RequestPending, Limit: trailPage}
	for more := true; more; more = q.After != "" {
		var page []*approvals.RequestHead
		var next approvals.RequestID
		err := st.View(ctx, func(tx approvals.Tx) (err error) {
			page, next, err = tx.QueryRequests(q)
			return err
		})
		if err != nil {
			return 0, err
		}
		n, q.After = n+len(page), next
	}
	return n, nil
}

func countLetters(ctx context.Context, st approvals.Store, ws approvals.WorkspaceID) (n int, err error) {
	var after approvals.NotificationID
	for {
		page, err := approvals.DeadLetters(ctx, st, ws, after, 0)
		if err != nil || len(page) == 0 {
			return n, err
		}
		n, after = n+len(page), page[len(page)-1].ID
	}
}
