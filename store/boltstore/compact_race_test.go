package boltstore

import (
	"errors"
	"os"
	"testing"
	"time"
)

// TestReplaceWhileCompacting has Replace wait for a store that Compact exchanges, and a bot open the new one: it is not
// replaced under the bot.
func TestReplaceWhileCompacting(t *testing.T) {
	t.Parallel()
	path, _ := sampleFile(t)
	from, aside := path+".new", path+".old"
	if err := os.WriteFile(from, sample(t), 0o600); err != nil {
		t.Fatal(err)
	}
	replaced := make(chan error, 1)
	var bot *Store
	_, err := Compact(t.Context(), path, CompactConfig{step: func(at string) (err error) {
		switch at {
		case "verified":
			go func() { replaced <- Replace(path, from, aside) }()
			for handles(t, path) < 2 {
				time.Sleep(time.Millisecond)
			}
		case "renamed":
			bot, err = Open(path, Config{})
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer bot.Close()
	if err := <-replaced; !errors.Is(err, ErrInUse) {
		t.Errorf("replaced under a bot: %v, want ErrInUse", err)
	}
	if err := bot.Update(t.Context(), put(777_777)); err != nil {
		t.Error(err)
	}
}

// TestCompactOfWhatIsMovedAway has the store moved away, and another file put in its place, while it is compacted: that
// one is not replaced.
func TestCompactOfWhatIsMovedAway(t *testing.T) {
	t.Parallel()
	path, _ := sampleFile(t)
	_, err := Compact(t.Context(), path, CompactConfig{step: func(at string) error {
		if at != "verified" {
			return nil
		}
		return errors.Join(os.Rename(path, path+".moved"), os.WriteFile(path, []byte("another"), 0o600))
	}})
	if !errors.Is(err, ErrGone) {
		t.Errorf("%v, want ErrGone", err)
	}
	if got, err := os.ReadFile(path); string(got) != "another" {
		t.Errorf("it was replaced: %d bytes, %v", len(got), err)
	}
}
