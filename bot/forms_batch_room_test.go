package bot

import (
	"strings"
	"testing"

	"countersign/agent/scripted"
)

// TestCallsWithoutRoomAreNotCalledLong: of 45 short calls a window answers 20. The others are left because there is no
// room for them, none of them because it is long, and those that are not named are counted.
func TestCallsWithoutRoomAreNotCalledLong(t *testing.T) {
	t.Parallel()
	const all = 45
	w := newWorld(t, callsWith(payments(all)...), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay them all", "")
	w.card(thread, all)
	form := w.opened("U0BEN", w.card(thread, 1), "approve_all")
	said := form.Shown()
	if form.SubmitLabel != "Approve 20" || strings.Contains(said, wordsTooLongHere) {
		t.Errorf("%s: %s", form.SubmitLabel, said)
	}
	if n := strings.Count(said, wordsNoRoomHere); n != 20 || !strings.Contains(said, wordsMore(all-20-n)) {
		t.Errorf("%d calls are left for want of room: %s", n, said)
	}
}
