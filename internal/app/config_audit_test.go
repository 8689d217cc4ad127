package app

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeKey writes a private key as openssl does.
func writeKey(t *testing.T, mode os.FileMode) (string, ed25519.PrivateKey) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "audit.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return name, key
}

// TestAuditConfig takes a key that nobody else can read and a place that is not the store's, both or none.
func TestAuditConfig(t *testing.T) {
	key, _ := writeKey(t, 0o600)
	open, _ := writeKey(t, 0o640)
	other := filepath.Join(t.TempDir(), "other.pem")
	if err := os.WriteFile(other, []byte("canary-7c1e"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, beside := t.TempDir(), t.TempDir()
	for _, c := range []struct{ name, key, to, want string }{
		{"neither", "", "", ""},
		{"a folder", key, folder, ""},
		{"a channel", key, "C0123456789", ""},
		{"a private channel", key, "G0123456789", ""},
		{"no place", key, "", "COUNTERSIGN_AUDIT_CHECKPOINTS is not set"},
		{"no key", "", folder, "COUNTERSIGN_AUDIT_KEY is not set"},
		{"a key that others can read", open, folder, "others can read or change"},
		{"a key that is none", other, folder, "no PEM file"},
		{"a key that is a folder", folder, folder, "is no file"},
		{"a key that is not there", "absent.pem", folder, "no such file"},
		{"a folder that is not there", key, filepath.Join(folder, "x"), "make the folder"},
		{"a file", key, other, "is no folder"},
		{"a channel by its name", key, "#audit", "make the folder"},
		{"the folder of the store", key, beside, "the folder of the store"},
	} {
		t.Run(c.name, func(t *testing.T) {
			vars := good()
			vars["COUNTERSIGN_STORE"] = "bolt:" + filepath.Join(beside, "x.db")
			vars["COUNTERSIGN_AUDIT_KEY"], vars["COUNTERSIGN_AUDIT_CHECKPOINTS"] = c.key, c.to
			environment(t, vars)
			cfg, err := ReadConfig()
			if err != nil {
				t.Fatal(err)
			}
			err = cfg.CheckRun()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, have %v", c.want, err)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("shows what is in the file: %v", err)
			}
			if err := cfg.Check(); err != nil {
				t.Errorf("a command that makes no checkpoints does not work: %v", err)
			}
		})
	}
}
