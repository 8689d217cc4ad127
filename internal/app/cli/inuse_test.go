package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"countersign/store/boltstore"
)

// TestStoreOfABotThatCannotBeAsked: a command does not advise to stop the bot that holds the file, which may be
// starting.
func TestStoreOfABotThatCannotBeAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	st, err := boltstore.Open(path, boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	t.Setenv("COUNTERSIGN_STORE", "bolt:"+path)
	for _, args := range []string{"approvals list", "runs show run_1", "outbox replay --all"} {
		p, _, complaints := capture(strings.Fields(args)...)
		code := Main(t.Context(), p)
		if said := complaints.String(); code != exitFailed || strings.Contains(said, "stop that process") ||
			!strings.Contains(said, "can be asked in a moment") {
			t.Errorf("%s: %d %s", args, code, said)
		}
	}
	p, _, complaints := capture("compact") // the control: it needs the file for itself
	code := Main(t.Context(), p)
	if said := complaints.String(); code != exitFailed || !strings.Contains(said, "stop that process") {
		t.Errorf("compact: %d %s", code, said)
	}
}
