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
		paragraph(wordsAgentAsks(r.Requester, label(r.Agent, 80))),
		quote(q.Question, maxElement),
	}
	if len(q.Options) == 0 {
		return blocks
	}
	lead := wordsOneIsTheAnswer
	if q.Several {
		lead = wordsSomeAreAnswer
	}
	lines := []phrase{{lead}}
	for i, option := range q.Options {
		lines = append(lines, phrase{strconv.Itoa(i+1) + ". ", code(label(option, 200))})
	}
	return append(blocks, paragraph(lines...))
}

// howToAnswer says what an answer does.
func howToAnswer(r *approvals.Request) phrase {
	if q := r.Question(); q != nil && len(q.Options) > 0 && len(q.Options) <= maxButtonOptions && !q.Several {
		return wordsPressOption()
	}
	return wordsPressAnswer()
}

// questionEnded says what the end of a question means for the agent.
func questionEnded(r *approvals.Request) phrase {
	switch r.Status {
	case approvals.RequestApproved:
		return wordsAgentToldAnswer()
	case approvals.RequestRejected:
		return wordsNobodyWillAnswer()
	}
	return nil
}
