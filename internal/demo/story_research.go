package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"countersign/internal/slackdev"
)

type researchStory struct {
	*story
	publish slackdev.Message // the card
}

func (t *researchStory) steps() []step {
	return []step{{"mention", t.ask}, {"crash", t.crash}, {"approve", t.approve}, {"answer", t.done}}
}

// ask waits for the card of the innermost agent. Handing over and reading needed nobody.
func (t *researchStory) ask(ctx context.Context) error {
	err := t.mention(ctx, "find out about the outage and publish a report")
	if err != nil {
		return err
	}
	if t.publish, err = t.card(ctx, 1); err != nil {
		return err
	}
	shown := t.publish.Shown()
	for _, want := range []string{"editor", "researcher", "publish_document", "09:12"} {
		if !strings.Contains(shown, want) {
			return fmt.Errorf("the card does not show %q:\n%s", want, shown)
		}
	}
	t.say("path", "the desk has handed over to the researcher, and the editor that it uses asks: %s",
		lineWith(shown, "researcher"))
	if _, err := os.Stat(filepath.Join(t.workdir(), published)); err == nil {
		return errors.New("something was published without a decision")
	}
	return nil
}

// lineWith returns the first line of a text that holds the words.
func lineWith(text, words string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, words) {
			return oneLine(line)
		}
	}
	return ""
}

func (t *researchStory) approve(ctx context.Context) error {
	if err := t.decide(ctx, ben, t.publish, "approve", "Approved"); err != nil {
		return err
	}
	t.say("approve", "Ben approves; the card now says: %s", t.lastLine(t.publish))
	return nil
}

// report is what was shown, and so what is published.
const report = `# Report

certificates: Certificates are renewed thirty days before they expire. The reminder goes to whoever installed them.
outage-3-november: Checkout was down from 09:12 to 09:53. Its certificate had expired, and nobody had been warned.
`

// done waits for the end of the run, and reads what was published.
func (t *researchStory) done(ctx context.Context) error {
	said, err := t.answer(ctx, "Published as published/report.md")
	if err != nil {
		return err
	}
	t.say("answer", "%s", oneLine(said))
	return t.file(published+"/report.md", report)
}
