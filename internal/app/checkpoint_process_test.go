package app_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// auditKeys writes a key in its own file, and its public half, and returns the names.
func (w *world) auditKeys(name string, seed byte) (private, public string) {
	w.t.Helper()
	key := ed25519.NewKeyFromSeed(append(make([]byte, 31), seed))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		w.t.Fatal(err)
	}
	half, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	w.write(name+"-public.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: half})))
	return name + ".pem", name + "-public.pem"
}

// verify runs audit verify and returns what it prints.
func (w *world) verify(wantCode int, args ...string) string {
	w.t.Helper()
	out, complaint, code := w.run(append([]string{"audit", "verify"}, args...)...)
	if code != wantCode {
		w.t.Fatalf("audit verify %q: exit code %d, want %d\n%s%s", args, code, wantCode, out, complaint)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code == 0 && !slices.Contains(args, "--json") && !strings.HasPrefix(lines[len(lines)-1], "audit: ok") {
		w.t.Errorf("audit verify %q: the last line is %q", args, lines[len(lines)-1])
	}
	if slices.Contains(args, "--json") {
		return out
	}
	return out + complaint
}

// TestCheckpoints has the bot keep checkpoints in a folder, and puts an older copy of the store in its place. Only the
// checkpoints show that.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	private, public := w.auditKeys("audit", 1)
	folder := filepath.Join(w.dir, "elsewhere")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	w.extra = append(w.extra, "COUNTERSIGN_AUDIT_KEY="+private, "COUNTERSIGN_AUDIT_CHECKPOINTS="+folder)
	w.write("none", "nothing here\n")
	bot := w.start()
	w.pays("1000")
	against := []string{"--checkpoints", folder, "--key", public}
	bot.stop()
	old, latest := w.duplicate(), w.store
	if out := w.verify(0, against...); !strings.Contains(out, "proven by signed checkpoints up to the newest entry") {
		t.Errorf("while the bot does not run: %s", out)
	}
	if out := w.verify(0); !strings.Contains(out, "consistent, not proven") {
		t.Errorf("without checkpoints: %s", out)
	}
	bot = w.start()
	if out := w.verify(0, "--checkpoints", folder); !strings.Contains(out, "is proven up to entry") {
		t.Errorf("with the bot's own key, while it runs: %s", out)
	}
	w.pays("2000")
	bot.stop()
	// Each end makes one. So does the second start on a file, which knows of no checkpoint before its own; a database
	// says that there is one of the newest entry. More are made while a start is long.
	least := 3
	if latest != "" {
		least = 2
	}
	var result struct {
		OK          bool
		Checkpoints struct{ Signed int }
	}
	if err := json.Unmarshal([]byte(w.verify(0, append(against, "--json")...)), &result); err != nil || !result.OK ||
		result.Checkpoints.Signed < least {
		t.Errorf("as JSON: %+v, %v, want %d at least", result, err, least)
	}
	w.store = old
	if out := w.verify(1, against...); !strings.Contains(out, "an older copy of the store") {
		t.Errorf("an older copy: %s", out)
	}
	w.verify(0) // control: the copy alone is consistent
	w.store = latest
	_, stranger := w.auditKeys("stranger", 2)
	if out := w.verify(1, "--checkpoints", folder, "--key", stranger); !strings.Contains(out, "none of those given") {
		t.Errorf("another key: %s", out)
	}
	for _, c := range []struct{ args, want string }{
		{"--key " + public, "--checkpoints"}, {"--checkpoints absent", "no such file"},
		{"--checkpoints none", "holds no checkpoint"}, {"--checkpoints " + folder + " --key none", "no PEM file"},
	} {
		if out := w.verify(2, strings.Fields(c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("%s: %s", c.args, out)
		}
	}
}

// pays has something paid that people approve.
func (w *world) pays(amount string) {
	w.t.Helper()
	thread := w.mention("pay " + amount)
	card := w.card(thread, 1)
	w.mustClick(ben, card, "approve")
	w.settled(card, "Approved")
	w.until("the call to run", func() bool {
		m, _ := w.slack.Message(general, card.TS)
		return strings.Contains(m.Shown(), "ran")
	})
}

// TestCheckpointsInAChannel has the bot post them; while Slack refuses them, everything else goes on.
func TestCheckpointsInAChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	private, public := w.auditKeys("audit", 1)
	w.extra = append(w.extra, "COUNTERSIGN_AUDIT_KEY="+private, "COUNTERSIGN_AUDIT_CHECKPOINTS=C0ABSENT")
	bot := w.start()
	w.pays("1000")
	bot.says("ALERT: a checkpoint")
	bot.stop()
	w.extra[len(w.extra)-1] = "COUNTERSIGN_AUDIT_CHECKPOINTS=" + general
	bot = w.start()
	posted := func() (text string) {
		for _, m := range w.slack.Messages(general) {
			if strings.Contains(m.Text, "Checkpoint of the audit trail") {
				text += m.Shown() + "\n"
			}
		}
		return text
	}
	w.until("a checkpoint in the channel", func() bool { return posted() != "" })
	bot.stop()
	w.write("saved.txt", posted())
	out := w.verify(0, "--checkpoints", "saved.txt", "--key", public)
	if !strings.Contains(out, "is proven up to entry") {
		t.Errorf("%s", out)
	}
}
