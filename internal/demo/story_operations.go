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

type operationsStory struct {
	*story
	card1, card2, card3 slackdev.Message // the patch, the patch again, the command
}

func (t *operationsStory) steps() []step {
	return []step{
		{"mention", t.ask}, {"edit", t.edit}, {"stale", t.stale}, {"approve", t.approve}, {"crash", t.crash},
		{"run", t.reload}, {"answer", t.done},
		{"elsewhere", t.elsewhere},
	}
}

// ask waits for the card of a patch. Looking at the file needed nobody.
func (t *operationsStory) ask(ctx context.Context) error {
	err := t.mention(ctx, "set the web server to 8 workers")
	if err != nil {
		return err
	}
	if t.card1, err = t.card(ctx, 1); err != nil {
		return err
	}
	if !strings.Contains(t.card1.Shown(), "web.conf") {
		return errors.New("the card does not name the file")
	}
	return t.file("web.conf", webConf)
}

// theirs is what somebody else adds to the file while people look at the card.
const theirs = "# Ask Cleo before you raise this.\n"

// edit changes the file behind the agent's back.
func (t *operationsStory) edit(context.Context) error {
	t.say("edit", "meanwhile somebody else adds a line to web.conf")
	f, err := os.OpenFile(filepath.Join(t.workdir(), "web.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(theirs)
	return errors.Join(err, f.Close())
}

// stale approves the patch to a file that is no longer the one that was shown.
func (t *operationsStory) stale(ctx context.Context) error {
	if err := t.click(ctx, ben, t.card1, "approve"); err != nil {
		return err
	}
	var err error
	if t.card2, err = t.card(ctx, 2); err != nil {
		return err
	}
	t.say("stale", "Ben approves, but the file is another one now: nothing is applied, and people are asked again")
	return t.file("web.conf", webConf+theirs)
}

// approve approves the same patch to the file as it is now.
func (t *operationsStory) approve(ctx context.Context) (err error) {
	if err := t.decide(ctx, cleo, t.card2, "approve", "Approved"); err != nil {
		return err
	}
	t.say("approve", "Cleo approves; the card now says: %s", t.lastLine(t.card2))
	if t.card3, err = t.card(ctx, 3); err != nil {
		return err
	}
	t.say("command", "next, the agent wants to run: ./reload.sh web.conf | tee -a reload.log")
	if _, err := os.Stat(filepath.Join(t.workdir(), "reload.log")); err == nil {
		return errors.New("the command ran without a decision")
	}
	return t.file("web.conf", strings.Replace(webConf, "workers = 4", "workers = 8", 1)+theirs)
}

// reload lets the command run.
func (t *operationsStory) reload(ctx context.Context) error {
	if err := t.decide(ctx, ben, t.card3, "approve", "Approved"); err != nil {
		return err
	}
	t.say("run", "Ben approves the command; its card now says: %s", t.lastLine(t.card3))
	return nil
}

// done waits for the end of the run, and looks at what it left.
func (t *operationsStory) done(ctx context.Context) error {
	said, err := t.answer(ctx, "reloaded: workers = 8")
	if err != nil {
		return err
	}
	t.say("answer", "%s", oneLine(said))
	return t.file("reload.log", "reloaded: workers = 8\n")
}

// elsewhere has something done that only people can do, and lets them report it.
func (t *operationsStory) elsewhere(ctx context.Context) error {
	if err := t.mention(ctx, "have port 443 opened"); err != nil {
		return err
	}
	asked, err := t.card(ctx, 4)
	if err != nil {
		return err
	}
	if err := t.decide(ctx, ben, asked, "approve", "Approved"); err != nil {
		return err
	}
	wanted, err := t.card(ctx, 5)
	if err != nil {
		return err
	}
	const result = "Port 443 is open, ticket NET-7."
	if err := t.fill(ctx, cleo, wanted, "provide_result", result); err != nil {
		return err
	}
	said, err := t.answer(ctx, result)
	if err != nil {
		return err
	}
	t.say("elsewhere", "Ben approves it, the network team does it, Cleo reports it: %s", oneLine(said))
	return nil
}

// file compares a file of the folder that agents work in.
func (t *story) file(name, want string) error {
	have, err := os.ReadFile(filepath.Join(t.workdir(), filepath.FromSlash(name)))
	if err == nil && string(have) != want {
		err = fmt.Errorf("it holds %q, not %q", have, want)
	}
	if err != nil {
		return fmt.Errorf("file %s: %w", name, err)
	}
	return nil
}
