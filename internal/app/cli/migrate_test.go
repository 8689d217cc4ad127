package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/app"
	"countersign/store"
	"countersign/store/transfer"
)

// TestMigrateAsItWasBegun: who goes on with a move under other keys than it was begun with, or with none, is told how
// it was begun, and not to do what a store is refused for that is half of a move.
func TestMigrateAsItWasBegun(t *testing.T) {
	const text = "k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	from := "bolt:" + filepath.Join(t.TempDir(), "from.db")
	s, err := store.Open(t.Context(), from, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const encrypted, plain = "it was begun encrypted: ", "it was begun without encryption: "
	for name, c := range map[string]struct {
		begun, now, flags, want string
	}{
		"plain now":     {text, text, " --plain", encrypted},
		"no keys now":   {text, "", "", encrypted},
		"encrypted now": {"", text, "", plain},
	} {
		t.Setenv("COUNTERSIGN_ENCRYPTION_KEYS", c.begun)
		cfg, err := app.ReadConfig()
		if err != nil {
			t.Fatal(err)
		}
		keys, err := cfg.Keys()
		if err != nil {
			t.Fatal(err)
		}
		to := "bolt:" + filepath.Join(t.TempDir(), "to.db")
		half, err := store.OpenTarget(t.Context(), to, store.Config{Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		err = half.Import(t.Context(), nil, transfer.Mark{Version: transfer.Version, From: "another"})
		if err := errors.Join(err, half.Close()); err != nil {
			t.Fatal(err)
		}
		t.Setenv("COUNTERSIGN_ENCRYPTION_KEYS", c.now)
		p, _, complaints := capture(strings.Fields("migrate " + from + " " + to + c.flags)...)
		code, said := Main(t.Context(), p), complaints.String()
		if code != 2 || !strings.Contains(said, c.want) || strings.Contains(said, "compact") {
			t.Errorf("%s: %d %s", name, code, said)
		}
	}
}
