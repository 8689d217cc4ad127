package bot

import (
	"context"
	"fmt"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// CheckpointChannel posts signed checkpoints of the audit trail in a channel. It is an approvals.CheckpointSink. All
// fields are needed.
type CheckpointChannel struct {
	Client  *Client
	Channel string // id
}

var _ approvals.CheckpointSink = (*CheckpointChannel)(nil)

// KeepCheckpoint posts the checkpoint as one line of JSON. Nothing of it is markup: who copies the message has the
// checkpoint as it was signed. It may be posted twice when Slack's answer got lost.
func (s *CheckpointChannel) KeepCheckpoint(ctx context.Context, c *approvals.Checkpoint) error {
	line, err := c.Line()
	if err != nil {
		return err
	}
	m, err := newMessage(
		wordsCheckpoint(c.Seq), []slack.Block{verbatim(string(line))})
	if err != nil {
		return err
	}
	if _, err := s.Client.postMessage(ctx, s.Channel, m); err != nil {
		return fmt.Errorf("post in %s: %w", s.Channel, err)
	}
	return nil
}
