package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/internal/control"
)

// newOutbox is a desk on a store with so many dead letters.
func newOutbox(t *testing.T, n int) *control.Local {
	t.Helper()
	desk := newDesk(t)
	err := desk.Store.Update(t.Context(), func(tx approvals.Tx) error {
		for i := range n {
			letter := &approvals.Notification{
				Workspace: "T1", ID: approvals.NotificationID(fmt.Sprintf("ntf_%03d", i)), Kind: approvals.NotifyAnswer,
				Place: approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}, Run: "run_1",
				Text: "the secret plan", Created: asked, Dead: settled, Why: "not_in_\x1bchannel",
			}
			if i == 1 {
				letter.Kind, letter.Request, letter.Copy = approvals.NotifyNotice, "req_1", "dm:U7"
			}
			if err := tx.PutNotification(letter); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return desk
}

// TestOutboxListSays what was given up, since when, why and where, and never what it says.
func TestOutboxListSays(t *testing.T) {
	t.Parallel()
	desk := newOutbox(t, 250)
	p, out, _ := capture()
	if err := (&outboxListCommand{Limit: 2}).list(t.Context(), &p, desk); err != nil {
		t.Fatal(err)
	}
	ago := regexp.MustCompile(`\d+ (s|min|h \d+ min|days) ago`)
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, ago.ReplaceAllString(squeezed(line), "AGO"))
	}
	want := []string{"ID KIND GIVEN UP RUN REQUEST PLACE WHY", "ntf_000 answer AGO run_1 - C1 not_in_\\u{1B}channel",
		"ntf_001 notice AGO run_1 req_1 dm:U7 not_in_\\u{1B}channel"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	for _, limit := range []int{0, 1, 200, 201, 250, 300} {
		p, out, _ := capture()
		if err := (&outboxListCommand{Limit: limit, JSON: true}).list(t.Context(), &p, desk); err != nil {
			t.Fatal(err)
		}
		wanted := 250
		if limit > 0 {
			wanted = min(limit, 250)
		}
		if n := strings.Count(out.String(), "\n"); n != wanted || strings.Contains(out.String(), "secret") {
			t.Errorf("limit %d: %d lines, want %d", limit, n, wanted)
		}
		first, _, _ := strings.Cut(out.String(), "\n")
		var d struct {
			ID, Kind, Since, Why, Run, Request string
			Place                              struct{ Channel, Thread string }
		}
		if err := json.Unmarshal([]byte(first), &d); err != nil || d.ID != "ntf_000" || d.Kind != "answer" ||
			d.Since != "2026-11-02T15:01:00Z" || d.Why != "not_in_\x1bchannel" || d.Run != "run_1" ||
			d.Place.Channel != "C1" || d.Place.Thread != "1" {
			t.Errorf("%v: %s", err, first)
		}
	}
	p, out, _ = capture()
	if err := (&outboxListCommand{}).list(t.Context(), &p, newOutbox(t, 0)); err != nil ||
		out.String() != "Nothing was given up.\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestReplay puts back what it is told to, says what that was, and fails for ids that are none.
func TestReplay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replay  *replayCommand
		letters int
		missing string
		want    string
		left    int
	}{
		"one":  {&replayCommand{ids: []approvals.NotificationID{"ntf_001"}}, 3, "", "Back in the outbox: 1 of 1;", 2},
		"all":  {&replayCommand{All: true}, 250, "", "Back in the outbox: 250 of 250;", 0},
		"none": {&replayCommand{All: true}, 0, "", "Nothing was given up.", 0},
		"one that is none": {&replayCommand{ids: []approvals.NotificationID{"ntf_000", "ntf_999"}}, 3,
			"no dead letter has the id ntf_999", "Back in the outbox: 1 of 2;", 2},
		"only one that is none": {&replayCommand{ids: []approvals.NotificationID{"ntf_999"}}, 3,
			"no dead letter has the id ntf_999", "Nothing was put back.", 3},
		"JSON": {&replayCommand{ids: []approvals.NotificationID{"ntf_002", "ntf_000"}, JSON: true}, 3, "",
			`{"id":"ntf_000"}` + "\n" + `{"id":"ntf_002"}` + "\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			desk := newOutbox(t, c.letters)
			p, out, _ := capture()
			err := c.replay.replay(t.Context(), &p, desk)
			if c.missing == "" && err != nil || c.missing != "" && (!errors.Is(err, approvals.ErrNotFound) ||
				!strings.Contains(err.Error(), c.missing)) {
				t.Errorf("%v", err)
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("%q, want %q", out, c.want)
			}
			left := 0
			err = walkLetters(t.Context(), desk, 0, func(*control.DeadLetter) error { left++; return nil })
			if err != nil || left != c.left {
				t.Errorf("%d are left, want %d; %v", left, c.left, err)
			}
		})
	}
}
