package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/approvals"
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

// TestMigrateWithoutTheKeys: who moves an encrypted store without its keys is told which variable takes them.
func TestMigrateWithoutTheKeys(t *testing.T) {
	t.Setenv("COUNTERSIGN_ENCRYPTION_KEYS", "k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	cfg, err := app.ReadConfig()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := cfg.Keys()
	if err != nil {
		t.Fatal(err)
	}
	from := "bolt:" + filepath.Join(t.TempDir(), "from.db")
	s, err := store.Open(t.Context(), from, store.Config{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, given := range map[string]string{
		"none": "", "another": "k1:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=",
	} {
		t.Setenv("COUNTERSIGN_ENCRYPTION_KEYS", given)
		p, _, complaints := capture("migrate", from, "bolt:"+filepath.Join(t.TempDir(), "to.db"))
		code, said := Main(t.Context(), p), complaints.String()
		if code != exitUsage || !strings.Contains(said, "k1") ||
			!strings.Contains(said, "COUNTERSIGN_ENCRYPTION_KEYS") {
			t.Errorf("%s: %d %s", name, code, said)
		}
	}
}

// TestMigrateDamaged: what is damaged is not moved, and who is told so is not sent to try the same again.
func TestMigrateDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "from.db")
	s, err := store.Open(t.Context(), "bolt:"+path, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), func(tx approvals.Tx) error {
		return tx.PutRun(&approvals.Run{Workspace: "T1", ID: "run_1", Status: approvals.RunDone, Input: "pay both"})
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.ReplaceAll(data, []byte("pay both"), []byte("pay none"))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", " --dry-run"} {
		p, _, complaints := capture(strings.Fields("migrate bolt:" + path + " bolt:" + path + ".to" + flags)...)
		code, said := Main(t.Context(), p), complaints.String()
		if code != exitFailed || !strings.Contains(said, "run_1") ||
			!strings.Contains(said, "begin again with its newest") ||
			strings.Contains(said, "goes on where it was") || strings.Contains(said, "in its place") {
			t.Errorf("%s: %d %s", flags, code, said)
		}
	}
	for name, err := range map[string]error{
		"a record": fmt.Errorf("read: %w", store.ErrDamagedRecord), "a file": fmt.Errorf("read: %w", store.ErrDamaged),
	} {
		c := migrateCommand{began: true}
		if said := c.explain("", err).Error(); strings.Contains(said, "goes on where it was") {
			t.Errorf("%s: %s", name, said)
		}
	}
	cut := fmt.Errorf("move runs: %w", context.Canceled)
	for c, want := range map[migrateCommand]string{
		{began: true}:  "FROM is unchanged: run the same command again, which goes on where it was",
		{DryRun: true}: "nothing was changed",
	} {
		err := c.explain("", cut)
		if err.Error() != "migrate: interrupted: "+want || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (&migrateCommand{}).explain("FROM", approvals.ErrNewer); !errors.Is(err, app.ErrConfig) {
		t.Errorf("a store of a newer version is nothing that another try mends: %v", err)
	}
	if said := (&migrateCommand{began: true}).explain("", errors.New("no room")).Error(); // the control
	!strings.Contains(said, "goes on where it was") {
		t.Error(said)
	}
}

// leaving is a target whose file is moved away right before the end.
type leaving struct {
	transfer.Target
	path string
}

func (l leaving) Finish(ctx context.Context) error {
	return errors.Join(os.Rename(l.path, l.path+".away"), l.Target.Finish(ctx))
}

// TestMigrateIntoWhatIsMovedAway: nobody is told to start the bot on a file that is not there any more.
func TestMigrateIntoWhatIsMovedAway(t *testing.T) {
	folder := t.TempDir()
	c := migrateCommand{From: "bolt:" + filepath.Join(folder, "from.db")}
	s, err := store.Open(t.Context(), c.From, store.Config{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "to.db")
	c.To = "bolt:" + path
	from, err := store.OpenSource(t.Context(), c.From, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := store.OpenTarget(t.Context(), c.To, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	p, said, _ := capture("migrate", c.From, c.To)
	err = c.move(t.Context(), &p, from, leaving{to, path})
	if err == nil || !strings.Contains(err.Error(), "was taken away") || said.String() != "" {
		t.Errorf("%v\n%s", err, said)
	}
}
