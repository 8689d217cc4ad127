package bot

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
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
