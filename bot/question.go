package bot

import (
	"strconv"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// questionBlocks show the question that an agent asks of its own accord, in its words; nothing of other requests.
func questionBlocks(r *approvals.Request) []slack.Block {
	q := r.Question()
	if q == nil {
		return nil
	}
	blocks := []slack.Block{
		paragraph(phrase{r.Requester, "'s agent ", strong(label(r.Agent, 80)), " asks:"}),
		quote(q.Question, maxElement),
	}
	if len(q.Options) == 0 {
		return blocks
	}
	lead := "One of these is the answer:"
	if q.Several {
		lead = "One or more of these are the answer:"
	}
	lines := []phrase{{lead}}
	for i, option := range q.Options {
		lines = append(lines, phrase{strconv.Itoa(i+1) + ". ", code(label(option, 200))})
	}
	return append(blocks, paragraph(lines...))
}

// howToAnswer says what an answer does.
func howToAnswer(r *approvals.Request) phrase {
	const reject = " Reject if nobody will answer."
	if q := r.Question(); q != nil && len(q.Options) > 0 && len(q.Options) <= maxButtonOptions && !q.Several {
		return phrase{"Nothing runs: the agent waits to be told the answer. Press the one that is right." + reject}
	}
	return phrase{"Nothing runs: the agent waits to be told the answer. Press ", strong("Answer"), "." + reject}
}

// questionEnded says what the end of a question means for the agent.
func questionEnded(r *approvals.Request) phrase {
	switch r.Status {
	case approvals.RequestApproved:
		return phrase{"The agent is told the answer."}
	case approvals.RequestRejected:
		return phrase{"Nobody will answer; the agent is told."}
	}
	return nil
}
