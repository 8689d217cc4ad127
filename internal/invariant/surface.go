package invariant

import (
	"strings"

	"countersign/approvals"
)

// nothingIsInLimbo is I4: every run has ended, or waits for a request that somebody can answer.
func (h *history) nothingIsInLimbo() {
	open := map[approvals.RunID]bool{}
	shown := map[approvals.RequestID]bool{}
	for _, c := range h.Cards {
		shown[c.Request] = shown[c.Request] || c.Decides
	}
	for _, r := range h.requests {
		if r.Status != approvals.RequestPending {
			continue
		}
		open[r.Run] = true
		if h.CardsSeen && !shown[r.ID] {
			h.broken(4, "request %s waits, and no card asks about it", r.ID)
		}
	}
	for _, r := range h.runs {
		switch {
		case r.Status == approvals.RunWaiting && !open[r.ID]:
			h.broken(4, "run %s waits for nothing", r.ID)
		case r.Status == approvals.RunQueued || r.Status == approvals.RunRunning:
			h.broken(4, "run %s is %s, and nothing moves it", r.ID, r.Status)
		case r.Status.Ended() && open[r.ID]:
			h.broken(4, "run %s is %s, and asks on", r.ID, r.Status)
		}
	}
	if h.AnswersSeen {
		h.answersArrive()
	}
}

// answersArrive wants each answer of a thread to be there as often as runs gave it.
func (h *history) answersArrive() {
	given := map[Answer]int{}
	for _, r := range h.runs {
		if r.Status == approvals.RunDone && r.Output != "" {
			given[Answer{r.Place.Channel, r.Place.Thread, r.Output}]++
		}
	}
	for want, n := range given {
		have := 0
		for _, a := range h.Answers {
			if a.Channel == want.Channel && a.Thread == want.Thread && strings.Contains(a.Text, want.Text) {
				have++
			}
		}
		if have != n {
			h.broken(4, "an answer was given %d times in thread %s, and is there %d times", n, want.Thread, have)
		}
	}
}

// words is what a card says of a request that has ended.
var words = map[approvals.RequestStatus][]string{
	approvals.RequestApproved: {"Approved", "Answered"}, approvals.RequestRejected: {"Rejected"},
	approvals.RequestExpired: {"Expired"}, approvals.RequestCancelled: {"Cancelled"},
	approvals.RequestStale: {"Stale"}, approvals.RequestSuperseded: {"Stale"},
}

// cardsTellTheTruth is I5: a card shows how its request stands, asks only while that waits, and is there once.
func (h *history) cardsTellTheTruth() {
	type copyOf struct {
		request approvals.RequestID
		where   string
	}
	copies := map[copyOf]int{}
	for _, c := range h.Cards {
		r := h.requests[c.Request]
		if r == nil {
			h.broken(5, "a card shows request %s, which is not there", c.Request)
			continue
		}
		if c.Withdrawn {
			if c.Decides {
				h.broken(5, "a copy of a card of request %s is withdrawn, and asks on", r.ID)
			}
			continue
		}
		if copies[copyOf{c.Request, c.Where}]++; copies[copyOf{c.Request, c.Where}] == 2 {
			h.broken(5, "request %s has more than one card in %s", c.Request, c.Where)
		}
		pending := r.Status == approvals.RequestPending
		says := pending
		for _, w := range words[r.Status] {
			says = says || strings.Contains(c.Shown, w)
		}
		switch {
		case c.Decides && !pending:
			h.broken(5, "request %s is %s, and its card asks on: %s", r.ID, r.Status, c.Shown)
		case !c.Decides && pending:
			h.broken(5, "request %s waits, and its card does not ask: %s", r.ID, c.Shown)
		case !says:
			h.broken(5, "request %s is %s, and its card says: %s", r.ID, r.Status, c.Shown)
		}
	}
}
