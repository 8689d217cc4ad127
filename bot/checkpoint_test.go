package bot

import (
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestCheckpointChannel posts a line that can be read back as it was signed, and says when Slack does not take it.
func TestCheckpointChannel(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	head := &approvals.AuditEntry{Workspace: "T0<!here>&*", Seq: 12, Hash: [32]byte{1}}
	c := approvals.NewCheckpoint(head, time.Unix(90, 1), nil, key)
	channel := &CheckpointChannel{Client: s.bot.client, Channel: "C0GENERAL"}
	if err := channel.KeepCheckpoint(s.ctx(), c); err != nil {
		t.Fatal(err)
	}
	posted := s.slack.Messages("C0GENERAL")
	m := posted[len(posted)-1]
	if strings.Contains(m.Text, "<") || !strings.Contains(m.Text, "12 entries") {
		t.Errorf("text %q", m.Text)
	}
	found, unreadable, err := approvals.ReadCheckpoints(strings.NewReader(shownText(t, m)))
	if err != nil || unreadable != 0 || len(found) != 1 || found[0].Sum() != c.Sum() ||
		found[0].Check(key.Public().(ed25519.PublicKey)) != nil {
		t.Errorf("read back %+v, %d, %v", found, unreadable, err)
	}
	s.slack.Fail(slackdev.Fault{Method: methodPost, Error: "is_archived"})
	if err := channel.KeepCheckpoint(s.ctx(), c); err == nil {
		t.Error("a checkpoint that is nowhere counts as kept")
	}
}

// shownText is the text of the message's blocks, as people copy it.
func shownText(t *testing.T, m slackdev.Message) string {
	t.Helper()
	var blocks []struct {
		Type     string
		Elements []struct {
			Type     string
			Elements []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, b := range blocks {
		for _, part := range b.Elements {
			for _, e := range part.Elements {
				if b.Type != "rich_text" || e.Type != "text" {
					t.Errorf("%s in %s is no plain text", e.Type, b.Type)
				}
				text.WriteString(e.Text)
			}
		}
	}
	return text.String()
}
