package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/app"
)

// hanging takes what is written to it when it can go on.
type hanging struct {
	goOn chan struct{} // closed, or nil: at once
	strings.Builder
}

func (h *hanging) Write(p []byte) (int, error) {
	if h.goOn != nil {
		<-h.goOn
	}
	return h.Builder.Write(p)
}

// TestLogThatIsNotTaken: a log that nobody takes holds up the first line for a moment and no other, and says later how
// many are missing.
func TestLogThatIsNotTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := new(hanging)
		log := logTo(to, &app.Config{LogLevel: "error", LogFormat: "json"})
		say := func(text string) time.Duration {
			began := time.Now()
			if n, err := io.WriteString(log, text); n != len(text) || err != nil {
				t.Fatalf("writing %q gives %d, %v", text, n, err)
			}
			return time.Since(began)
		}
		if took := say("first\n"); took != 0 || to.String() != "first\n" {
			t.Fatalf("after %s the log is %q", took, to.String())
		}
		to.goOn = make(chan struct{})
		if took := say("late\n"); took != logPatience {
			t.Errorf("a line was waited for for %s", took)
		}
		for i := range 3 {
			if took := say(fmt.Sprintf("lost %d\n", i)); took != 0 {
				t.Errorf("the line behind it was waited for for %s", took)
			}
		}
		close(to.goOn)
		synctest.Wait()
		say("then\n")
		got := to.String()
		if !strings.HasPrefix(got, "first\nlate\n{") || !strings.HasSuffix(got, `"lines":3}`+"\nthen\n") ||
			strings.Contains(got, "lost ") || !strings.Contains(got, "lines are missing here") {
			t.Errorf("the log is %q", got)
		}
		if say("last\n"); strings.Count(to.String(), "missing") != 1 || !strings.HasSuffix(to.String(), "last\n") {
			t.Errorf("the log goes on with %q", strings.TrimPrefix(to.String(), got))
		}
	})
}

// TestLogThatFails: an error of writing is the caller's, as without what is between.
func TestLogThatFails(t *testing.T) {
	t.Parallel()
	log := logTo(&full{}, new(app.Config))
	if n, err := io.WriteString(log, "x"); n != 0 || !errors.Is(err, errFull) {
		t.Errorf("%d, %v", n, err)
	}
}
