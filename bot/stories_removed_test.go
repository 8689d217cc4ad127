package bot

import (
	"strings"
	"testing"
)

// TestCardOfARemovedAppSaysWhy: the app was removed while a call waited, and was installed again. The card says itself
// why the call was cancelled: whoever has it elsewhere than in the thread reads no notice.
func TestCardOfARemovedAppSaysWhy(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	k.install(one)
	card := k.card(one, k.mention(one))
	w := k.cloud.Workspace(one)
	w.Uninstall()
	k.eventually("the app is gone, and nothing waits", func() bool {
		return len(k.bots.Absent()) == 1 && len(k.pending(one)) == 0
	})
	k.install(one)
	said := ""
	k.eventually("the card is settled", func() bool {
		m, _ := w.Message(card.Channel, card.TS)
		said = texts(t, m.Blocks)
		return !decidable(m)
	})
	for _, words := range []string{"Cancelled", "the app was removed from the workspace", "not run"} {
		if !strings.Contains(said, words) {
			t.Errorf("%q is not on the card: %s", words, said)
		}
	}
}
