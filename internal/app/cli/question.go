package cli

import (
	"fmt"

	"countersign/approvals"
)

// questionLines are the question that an agent asks of its own accord, and how it is answered; nothing of other
// requests.
func questionLines(r *approvals.Request) []string {
	q := r.Question()
	if q == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("%s's agent %s asks: %s", r.Requester.Local(), r.Agent, q.Question)}
	for _, option := range q.Options {
		lines = append(lines, "option: "+option)
	}
	if r.Status != approvals.RequestPending {
		return lines
	}
	how := "answer with --answer TEXT"
	switch {
	case q.Several:
		how = "answer with --answer OPTION, as often as there are choices"
	case len(q.Options) > 0:
		how = "answer with --answer OPTION"
	}
	return append(lines, how+", or with --reject if nobody will answer")
}

// answerWord says whether a question has its answer; empty while it waits for one.
func answerWord(r *approvals.RequestHead) string {
	switch r.Status {
	case approvals.RequestPending:
		return ""
	case approvals.RequestApproved:
		return "answered"
	}
	return "no answer"
}
