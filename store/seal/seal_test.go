package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// encoded returns a key as it stands in a list.
func encoded(fill byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, KeySize))
}

func parse(t testing.TB, text string) *Keyring {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newTestCipher(t testing.TB, r *Keyring, id string, salt []byte) *Cipher {
	t.Helper()
	c, err := r.Cipher(id, salt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParse(t *testing.T) {
	t.Parallel()
	short := base64.StdEncoding.EncodeToString(make([]byte, KeySize-1))
	for name, c := range map[string]struct{ text, first, says string }{
		"one":             {text: "a:" + encoded(1), first: "a"},
		"several":         {text: "2026-11:" + encoded(1) + ",old_1:" + encoded(2), first: "2026-11"},
		"spaces":          {text: " a:" + encoded(1) + " ,\n b:" + encoded(2) + "\n", first: "a"},
		"longest id":      {text: strings.Repeat("x", MaxID) + ":" + encoded(1), first: strings.Repeat("x", MaxID)},
		"nothing":         {says: "entry 1: it is empty"},
		"trailing comma":  {text: "a:" + encoded(1) + ",", says: "entry 2: it is empty"},
		"no id":           {text: encoded(1), says: "entry 1: it has no id"},
		"empty id":        {text: ":" + encoded(1), says: "entry 1: its id"},
		"id too long":     {text: strings.Repeat("x", MaxID+1) + ":" + encoded(1), says: "entry 1: its id"},
		"id in capitals":  {text: "A:" + encoded(1), says: "entry 1: its id"},
		"turned round":    {text: encoded(1) + ":a", says: "entry 1: its id"},
		"no base64":       {text: "a:" + strings.Repeat("!", 44), says: "entry 1 (a): its key is not standard"},
		"base64 of URLs":  {text: "a:" + strings.Repeat("-_", 21) + "8=", says: "entry 1 (a): its key is not standard"},
		"without padding": {text: "a:" + strings.TrimRight(encoded(1), "="), says: "(a): its key is not standard"},
		"too short":       {text: "a:" + encoded(1) + ",b:" + short, says: "entry 2 (b): its key has 31 bytes"},
		"empty key":       {text: "a:", says: "entry 1 (a): its key has 0 bytes"},
		"the same id twice": {text: "a:" + encoded(1) + ",a:" + encoded(2),
			says: "entry 2 (a): entry 1 has the same id"},
		"the same key twice": {text: "a:" + encoded(1) + ",b:" + encoded(1),
			says: "entry 2 (b): entry 1 (a) has the same key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Parse(c.text)
			if c.says == "" {
				if err != nil || r.First() != c.first {
					t.Errorf("got %v, %v", r, err)
				}
				return
			}
			if !errors.Is(err, ErrKeyring) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error that says %q", err, c.says)
			}
		})
	}
}

// TestKeysAreNeverShown looks for the keys in errors, and in whatever a keyring can be turned into.
func TestKeysAreNeverShown(t *testing.T) {
	t.Parallel()
	secret := encoded('k')
	var shown []string
	for _, text := range []string{secret, secret + ":a", ":" + secret, "a:" + secret + "x", "a:" + secret[1:],
		"a:" + secret + ",a:" + secret, "a:" + secret + ",b:" + secret, "A:" + secret} {
		_, err := Parse(text)
		if err == nil {
			t.Errorf("%q was taken", text)
		}
		shown = append(shown, fmt.Sprint(err))
	}
	r := parse(t, "a:"+secret)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("keys", "keys", r)
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	shown = append(shown, fmt.Sprintf("%v %+v %#v %s %q %x %d", r, r, r, r, r, r, r), log.String(), string(data))
	for _, text := range shown {
		if strings.Contains(text, secret[:12]) || strings.Contains(text, "kkkk") || strings.Contains(text, "107 107") {
			t.Errorf("a key is in %q", text)
		}
	}
	if !strings.Contains(log.String(), "keys a") {
		t.Errorf("the id is not in %q", log.String())
	}
}

// TestCipher checks that what was sealed opens with the same key, salt and additional data, and with no others.
func TestCipher(t *testing.T) {
	t.Parallel()
	r := parse(t, "a:"+encoded(1)+",b:"+encoded(2))
	salt, another := bytes.Repeat([]byte{7}, SaltSize), bytes.Repeat([]byte{8}, SaltSize)
	a := newTestCipher(t, r, "a", salt)
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		about := rapid.SliceOf(rapid.Byte()).Draw(t, "about")
		sealed := a.Seal([]byte("before"), plain, about)
		if len(sealed) != len("before")+len(plain)+Overhead || !bytes.HasPrefix(sealed, []byte("before")) {
			t.Fatalf("%d bytes became %d", len(plain), len(sealed))
		}
		sealed = sealed[len("before"):]
		got, err := a.Open([]byte("x"), sealed, about)
		if err != nil || !bytes.Equal(got, append([]byte("x"), plain...)) {
			t.Fatalf("opened %q, %v", got, err)
		}
		if _, err := a.Open(nil, sealed, append(about, 0)); !errors.Is(err, ErrOpen) {
			t.Fatalf("with other additional data: %v", err)
		}
		bit := rapid.IntRange(0, len(sealed)*8-1).Draw(t, "bit")
		flipped := bytes.Clone(sealed)
		flipped[bit/8] ^= 1 << (bit % 8)
		if _, err := a.Open(nil, flipped, about); !errors.Is(err, ErrOpen) {
			t.Fatalf("with bit %d turned over: %v", bit, err)
		}
		if _, err := a.Open(nil, sealed[:bit/8], about); !errors.Is(err, ErrOpen) {
			t.Fatalf("cut to %d bytes: %v", bit/8, err)
		}
	})
	sealed := a.Seal(nil, []byte("text"), nil)
	for name, c := range map[string]*Cipher{
		"another key": newTestCipher(t, r, "b", salt), "another salt": newTestCipher(t, r, "a", another),
	} {
		if _, err := c.Open(nil, sealed, nil); !errors.Is(err, ErrOpen) {
			t.Errorf("with %s: %v", name, err)
		}
	}
	if _, err := newTestCipher(t, parse(t, "z:"+encoded(1)), "z", salt).Open(nil, sealed, nil); err != nil {
		t.Errorf("the same key under another id: %v", err)
	}
	if _, err := r.Cipher("c", salt); !errors.Is(err, ErrNoKey) {
		t.Errorf("an unknown id: %v", err)
	}
	if bytes.Equal(sealed, a.Seal(nil, []byte("text"), nil)) {
		t.Error("the same text was sealed the same way twice")
	}
}

// TestDerivedKey pins the derivation: what it derived once must open for ever.
func TestDerivedKey(t *testing.T) {
	t.Parallel()
	c := newTestCipher(t, parse(t, "a:"+encoded(1)), "a", bytes.Repeat([]byte{7}, SaltSize))
	sealed, err := base64.StdEncoding.DecodeString(frozen)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Open(nil, sealed, []byte("about")); string(got) != "kept" || err != nil {
		t.Errorf("opened %q, %v", got, err)
	}
}

// frozen was made by another implementation of RFC 5869 and AES-GCM.
const frozen = "AAECAwQFBgcICQoLHex73UdnVJhLAtY3mG4iqmQu/N8="

func BenchmarkSeal(b *testing.B) {
	c := newTestCipher(b, parse(b, "a:"+encoded(1)), "a", make([]byte, SaltSize))
	plain, about, room := make([]byte, 400), make([]byte, 60), make([]byte, 0, 1000)
	sealed := c.Seal(nil, plain, about)
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Seal(room, plain, about)
		}
	})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Open(room, sealed, about); err != nil {
				b.Fatal(err)
			}
		}
	})
}
