package rapidtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckFew(t *testing.T) {
	t.Parallel()
	if chosen() {
		t.Skip("how often is given")
	}
	tries := 0
	CheckFew(t, 7, func(t *rapid.T) { tries += rapid.IntRange(1, 1).Draw(t, "one") })
	if tries != 7 {
		t.Errorf("tried %d times, want 7", tries)
	}
}

// TestCheckFewFinds has a property that fails the last time it is tried: it must still be found, and made small, though
// that takes more than n tries.
func TestCheckFewFinds(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Fatal": "800 is too much", "Error": "800 is too much", "panic": "panic after 2 tests: 800\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestThatFails$", "-rapid.nofailfile")
			cmd.Env = append(os.Environ(), "RAPIDTEST_FAILS="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "flaky") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestThatFails is run by TestCheckFewFinds.
func TestThatFails(t *testing.T) {
	how := os.Getenv("RAPIDTEST_FAILS")
	if how == "" {
		t.Skip("run by TestCheckFewFinds")
	}
	tries := 0
	CheckFew(t, 3, func(t *rapid.T) {
		n := rapid.IntRange(800, 1<<20).Draw(t, "n")
		if tries++; tries < 3 {
			return
		}
		switch how {
		case "Fatal":
			t.Fatalf("%d is too much", n)
		case "Error":
			t.Errorf("%d is too much", n)
		default:
			panic(n)
		}
	})
}
