package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// story is what happens while the program is killed.
type story string

const (
	approving story = "a call is approved and runs"
	expiring  story = "nobody answers in time"
	draining  story = "the program is told to stop while a tool runs"
	// escalating is expiring where more people are asked before the end.
	escalating story = "more people are asked, and nobody answers in time"
	// triggering has a test of its own, TestKillWhileTriggering.
	triggering story = "a call is sent to what carries it out"
	// migrating has a test of its own, TestKillWhileMigrating.
	migrating story = "a store of an older format is opened"
)

// sealing is passed in stores that several processes use alone, where entries of the trail are linked later.
const sealing = "audit.seal"

// stories says for each crash point which story passes through it, where that is not approving. Of those in a story
// with a test of its own the loop keeps away.
var stories = map[string]story{
	"expire.claimed": expiring, "shutdown.drain": draining, "trigger.before_intent": triggering,
	"trigger.after_intent": triggering, "trigger.sent_before_record": triggering,
	"escalate.claimed": escalating, "checkpoint.sign": draining, "migrate.step": migrating,
}

var (
	pointCall = regexp.MustCompile(`fault\.(?:Point|Error)\((.*)\)`)
	pointName = regexp.MustCompile(`"([a-z_]+\.[a-z_]+)"`)
)

// crashPoints reads the names of all crash points from the source.
func crashPoints(t *testing.T) []string {
	t.Helper()
	var points []string
	for _, dir := range []string{"approvals", "bot", "store/boltstore", "store/pgstore", "internal/app"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range pointCall.FindAllSubmatch(source, -1) {
				for _, name := range pointName.FindAllSubmatch(call[1], -1) {
					points = append(points, string(name[1]))
				}
			}
		}
	}
	slices.Sort(points)
	points = slices.Compact(points)
	if len(points) < 10 {
		t.Fatalf("only %d crash points found: %q", len(points), points)
	}
	return points
}

// promised are the points at which the program has to be killed, frozen, slowed down and failed, from the mention to
// the end (docs/reliability.md). seenOutside are those of them that the world outside reaches by itself, in the middle
// of what only it sees: the model's answer, the tool's work.
var (
	promised = strings.Fields(`event.before_store event.after_store ack.before ack.after run.leased model.before
		model.mid_stream model.after pause.before_commit pause.after_commit card.before_post card.after_post_before_ts
		card.after_ts click.before_tx click.in_tx click.after_commit_before_ack click.after_ack outbox.claimed
		outbox.sent_before_mark resume.leased resume.loaded effect.before_intent effect.after_intent effect.in_tool
		effect.after_tool_before_commit effect.after_commit expire.claimed escalate.claimed audit.head checkpoint.sign
		migrate.step shutdown.drain audit.seal trigger.before_intent trigger.after_intent trigger.sent_before_record`)
	seenOutside = []string{"effect.in_tool", "model.mid_stream"}
)

// TestPointsAreThere compares the points of the code with those that are promised.
func TestPointsAreThere(t *testing.T) {
	t.Parallel()
	there := append(crashPoints(t), seenOutside...)
	for _, point := range promised {
		if !slices.Contains(there, point) {
			t.Errorf("nothing passes through %s", point)
		}
	}
	for _, point := range there {
		if !slices.Contains(promised, point) {
			t.Errorf("%s is in the code, and not in the list; docs/reliability.md has it too", point)
		}
	}
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, point := range promised {
		if !strings.Contains(string(page), "`"+point+"`") {
			t.Errorf("docs/reliability.md does not name %s", point)
		}
	}
}
