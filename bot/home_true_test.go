package bot

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
)

// TestHomeSaysNothingUntrue: Ann's own request waits for herself, and Ben has answered what still waits for others.
// Neither reads that they had asked for nothing, or decided nothing.
func TestHomeSaysNothingUntrue(t *testing.T) {
	t.Parallel()
	w := newWorldUnder(t, rule{ofTheChannel, 2}, pay("call_1"), scripted.Say("Done."))
	card := w.card(w.mention("U0ANN", "pay acme", ""), 1)
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.shown(card, "@U0BEN approved")
	w.atHome("U0BEN")
	w.homeSays("U0BEN", wordsNothingForYou().fallback(), wordsNothingDecided().fallback(),
		"not:You have decided nothing")
	w.atHome("U0ANN")
	w.homeSays("U0ANN", wordsNothingAsked().fallback(), `"approve"`, "not:You have asked for nothing")
}

// TestHomeThatCannotBeReadSaysSo: where the store does not answer, nobody reads that there was nothing.
func TestHomeThatCannotBeReadSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of      home
		nothing bool
	}{
		"what waits": {home{noWaiting: true}, false}, "the history": {home{noHistory: true}, false},
		"the control": {home{}, true},
	} {
		raw, err := json.Marshal(c.of.blocks(time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(texts(t, raw), wordsNothingAsked().fallback()[:20]); got != c.nothing {
			t.Errorf("%s: %s", name, texts(t, raw))
		}
	}
}

// TestHomeFindsWhatWasAskedForBehindWhatWaits: more waits for Ben than his tab has rows for, and behind it something
// that he has asked for himself. His tab lists that; where too much waits to look through, it says no more than it
// knows.
func TestHomeFindsWhatWasAskedForBehindWhatWaits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		homeRows + 2: "", homeScan + 2: "Nothing that you asked for is among what this page looks through",
	} {
		s := newStage(t, setUp{})
		all := listed(s, n)
		own := all[n-1].ID
		s.service.edit(own, func(r *approvals.Request) { r.Requester = user("U0BEN") })
		if want == "" {
			want = string(own)
		}
		if err := s.slack.OpenHome(s.ctx(), "U0BEN"); err != nil {
			t.Fatal(err)
		}
		s.eventually("a tab", func() bool { return s.slack.HomeView("U0BEN") != nil })
		s.homeSays("U0BEN", string(all[0].ID), want, "not:Nothing that you asked for waits")
	}
}

// TestHomeThatLooksThroughAPartSaysSo: there is more history than the tab looks through.
func TestHomeThatLooksThroughAPartSaysSo(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal((&home{partly: true, moreDecided: true}).blocks(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	said := texts(t, raw)
	for _, untrue := range []string{wordsNothingAsked().fallback()[:40], wordsNothingDecided().fallback()[:40]} {
		if strings.Contains(said, untrue) {
			t.Errorf("%q is not known: %s", untrue, said)
		}
	}
}

// TestHomeOfWhatCannotBeJudgedSaysSo: it cannot be found out now what Ben may see, as while Slack does not answer. He
// does not read that there was nothing.
func TestHomeOfWhatCannotBeJudgedSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	s.service.mu.Lock()
	s.service.unjudged = 3
	s.service.mu.Unlock()
	if err := s.slack.OpenHome(s.ctx(), "U0BEN"); err != nil {
		t.Fatal(err)
	}
	s.eventually("a tab", func() bool { return s.slack.HomeView("U0BEN") != nil })
	said := texts(t, s.slack.HomeView("U0BEN").Blocks)
	for _, untrue := range []string{wordsNothingAsked().fallback()[:40], wordsNothingDecided().fallback()[:40]} {
		if strings.Contains(said, untrue) {
			t.Errorf("%q is not known: %s", untrue, said)
		}
	}
}
