package approvals_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

// auditKey is a key of its own for each number.
func auditKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(append(make([]byte, 31), n))
}

func publicKey(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func sampleCheckpoint(seq uint64, prev *approvals.Checkpoint) *approvals.Checkpoint {
	head := &approvals.AuditEntry{Workspace: "T1", Seq: seq, Hash: agent.Digest{byte(seq)}}
	return approvals.NewCheckpoint(head, time.Date(2026, 11, 2, 15, 0, int(seq), 1000, time.UTC), prev, auditKey(1))
}

// TestCheckpointBindsEveryField changes each field of a signed checkpoint.
func TestCheckpointBindsEveryField(t *testing.T) {
	t.Parallel()
	mine := publicKey(auditKey(1))
	for name, change := range map[string]func(*approvals.Checkpoint){
		"form":         func(c *approvals.Checkpoint) { c.Form = "countersign.checkpoint/9" },
		"workspace":    func(c *approvals.Checkpoint) { c.Workspace = "T2" },
		"seq":          func(c *approvals.Checkpoint) { c.Seq++ },
		"no entry":     func(c *approvals.Checkpoint) { c.Seq = 0 },
		"head":         func(c *approvals.Checkpoint) { c.Head[31]++ },
		"time":         func(c *approvals.Checkpoint) { c.At = c.At.Add(time.Nanosecond) },
		"key":          func(c *approvals.Checkpoint) { c.Key[0]++ },
		"prev":         func(c *approvals.Checkpoint) { c.Prev[0]++ },
		"signature":    func(c *approvals.Checkpoint) { c.Signature[5]++ },
		"no signature": func(c *approvals.Checkpoint) { c.Signature = nil },
		"another's key": func(c *approvals.Checkpoint) {
			*c = *approvals.NewCheckpoint(&approvals.AuditEntry{
				Workspace: c.Workspace, Seq: c.Seq, Hash: c.Head}, c.At, nil, auditKey(2))
		},
	} {
		c := sampleCheckpoint(7, nil)
		if err := c.Check(publicKey(auditKey(2)), mine); name == "form" && err != nil {
			t.Errorf("control: %v", err)
		}
		if change(c); !errors.Is(c.Check(mine), approvals.ErrCheckpoint) {
			t.Errorf("%s: it still holds", name)
		}
	}
}

// TestReadCheckpoints finds them among other text, each as it was written.
func TestReadCheckpoints(t *testing.T) {
	t.Parallel()
	one := sampleCheckpoint(7, nil)
	two := sampleCheckpoint(9, one)
	line := func(c *approvals.Checkpoint) string {
		data, err := c.Line()
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	all := []approvals.Checkpoint{*one, *two}
	for _, tt := range []struct {
		name, text string
		want       []approvals.Checkpoint
		unreadable int
	}{
		{"one on each line", line(one) + "\n" + line(two) + "\n", all, 0},
		{"no line break at the end", line(one) + "\n" + line(two), all, 0},
		{"copied from a channel", "Bot APP  9:41\n  " + line(one) + " (edited)\n\n" + line(two) + "\r\n",
			all, 0},
		{"on one line", line(one) + line(two), all, 0},
		{"a line that was broken off", line(one)[:100] + line(one) + "\n" + line(two) + "\n", all, 1},
		{"a field that it does not have", strings.Replace(line(one), `"seq"`, `"sec"`, 1) + "\n" + line(two),
			all[1:], 1},
		{"nothing", "hello\n", nil, 0},
	} {
		got, unreadable, err := approvals.ReadCheckpoints(strings.NewReader(tt.text))
		if err != nil || unreadable != tt.unreadable {
			t.Errorf("%s: %d cannot be read, %v", tt.name, unreadable, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +have):\n%s", tt.name, diff)
		}
		for _, c := range got {
			if err := c.Check(publicKey(auditKey(1))); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
}

// TestMissingCheckpoints counts those that the next ones continue.
func TestMissingCheckpoints(t *testing.T) {
	t.Parallel()
	one := sampleCheckpoint(1, nil)
	two := sampleCheckpoint(2, one)
	three := sampleCheckpoint(3, two)
	if n := approvals.MissingCheckpoints([]approvals.Checkpoint{*three, *one, *two}); n != 0 {
		t.Errorf("control: %d of all are missing", n)
	}
	if n := approvals.MissingCheckpoints([]approvals.Checkpoint{*one, *three}); n != 1 {
		t.Errorf("%d are missing, want 1", n)
	}
}

// TestParseAuditKey says what is wrong with keys of other kinds, and nothing of what is in them.
func TestParseAuditKey(t *testing.T) {
	t.Parallel()
	key := auditKey(1)
	private := encoded(t, "PRIVATE KEY", key, pkcs8)
	public := encoded(t, "PUBLIC KEY", publicKey(key), pkix)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, private, public string }{
		"ed25519":        {private, "", ""},
		"its public key": {public, "it is a public key", ""},
		"elliptic curve": {encoded(t, "PRIVATE KEY", other, pkcs8), "ECDSA key, not ed25519",
			"ECDSA key, not ed25519"},
		"elliptic curve's public key": {encoded(t, "PUBLIC KEY", &other.PublicKey, pkix),
			"it is a public key", "ECDSA key, not ed25519"},
		"its older form": {encoded(t, "EC PRIVATE KEY", other, x509.MarshalECPrivateKey), `holds "EC PRIVATE KEY"`,
			`holds "EC PRIVATE KEY"`},
		"a passphrase": {armoured("ENCRYPTED PRIVATE KEY"), "passphrase", "passphrase"},
		"two keys":     {private + private, "more than one", "more than one"},
		"damaged":      {armoured("PRIVATE KEY"), "cannot be read", "cannot be read"},
		"damaged, too": {armoured("PUBLIC KEY"), "it is a public key", "cannot be read"},
		"something":    {"c2VjcmV0", "no PEM", "no PEM"},
		"nothing":      {"", "no PEM", "no PEM"},
	} {
		got, err := approvals.ParseAuditKey([]byte(c.text))
		if c.private == "" && (err != nil || !got.Equal(key)) || c.private != "" && !mentions(err, c.private) {
			t.Errorf("%s: %v, want %q", name, err, c.private)
		}
		half, err := approvals.ParseAuditPublicKey([]byte(c.text))
		if c.public == "" && (err != nil || !half.Equal(publicKey(key))) || c.public != "" && !mentions(err, c.public) {
			t.Errorf("%s, as a public key: %v, want %q", name, err, c.public)
		}
	}
}

// armoured is something that says it is of the kind.
func armoured(kind string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte{1}}))
}

func mentions(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

func encoded[K any](t *testing.T, kind string, key K, marshal func(K) ([]byte, error)) string {
	t.Helper()
	der, err := marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func pkcs8[K any](key K) ([]byte, error) { return x509.MarshalPKCS8PrivateKey(key) }

func pkix[K any](key K) ([]byte, error) { return x509.MarshalPKIXPublicKey(key) }
