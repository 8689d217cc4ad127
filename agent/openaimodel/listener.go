package openaimodel

import (
	"encoding/json"

	"countersign/agent"
)

// listener is who is told about an answer while it arrives. The zero listener is nobody.
type listener struct {
	emit func(agent.ModelDelta) bool // nil: nobody, or nobody any more
	told bool                        // something was emitted: the call cannot be repeated unnoticed
}

// deaf reports whether nobody listens, so that nothing has to be decoded for them.
func (l *listener) deaf() bool { return l.emit == nil }

func (l *listener) hear(d agent.ModelDelta) {
	if l.emit == nil || d.Text == "" && d.Reasoning == "" {
		return
	}
	l.told = true
	if !l.emit(d) {
		l.emit = nil
	}
}

// text passes on a piece of a message, which is a JSON string.
func (l *listener) text(item string, piece json.RawMessage) {
	if !l.deaf() {
		l.hear(agent.ModelDelta{ItemID: item, Text: decoded(piece)})
	}
}

// reasoning passes on a piece of a summary, which is a JSON string.
func (l *listener) reasoning(item string, piece json.RawMessage) {
	if !l.deaf() {
		l.hear(agent.ModelDelta{ItemID: item, Reasoning: decoded(piece)})
	}
}

// whole passes on an answer that came in one piece.
func (l *listener) whole(answer *agent.ModelResponse) {
	for i := range answer.Items {
		if it := &answer.Items[i]; it.Type == agent.ItemMessage {
			l.hear(agent.ModelDelta{ItemID: it.ID, Text: it.Text})
		}
	}
}

// decoded returns the text of a JSON string, or "" for anything else.
func decoded(token json.RawMessage) string {
	var s string
	if json.Unmarshal(token, &s) != nil {
		return ""
	}
	return s
}
