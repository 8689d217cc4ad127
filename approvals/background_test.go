package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// inThread is a place in which others wrote before anybody mentioned the bot.
var inThread = approvals.Place{Surface: "slack", Channel: "C1", Thread: "0.0"}

// thread is a Reader in memory.
type thread struct {
	mu      sync.Mutex
	remarks []approvals.Remark
	asked   int
	err     error
	files   map[string]string
}

func (r *thread) Thread(
	context.Context, approvals.WorkspaceID, approvals.Place, time.Time,
) ([]approvals.Remark, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return append([]approvals.Remark(nil), r.remarks...), r.err
}

func (r *thread) ReadFile(_ context.Context, _ approvals.WorkspaceID, f approvals.File, most int) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, ok := r.files[f.ID]
	if !ok {
		return "", &approvals.UnreadableError{Why: "it is no text file"}
	}
	return text[:min(most, len(text))], nil
}

func (r *thread) say(by approvals.UserID, message, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remarks = append(r.remarks, approvals.Remark{Message: message, By: by, At: time.Now(), Text: text})
}

func (b *bench) reads(r *thread) {
	b.worker.Reader = r
	b.worker.Requesters = func(approvals.WorkspaceID) approvals.Approvers {
		return approvals.Approvers{ChannelMembers: true}
	}
}

// ears is a model that keeps what it was sent and answers as the test says.
type ears struct {
	mu    sync.Mutex
	heard []string
	model func(n int) ([]agent.Item, error) // n counts from 1
}

func (e *ears) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	var all []string
	for _, it := range req.Items {
		all = append(all, it.Text)
	}
	e.mu.Lock()
	e.heard = append(e.heard, strings.Join(all, "\n"))
	n := len(e.heard)
	e.mu.Unlock()
	if e.model != nil {
		if items, err := e.model(n); items != nil || err != nil {
			return &agent.ModelResponse{Items: items}, err
		}
	}
	return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("done")}}, nil
}

func (e *ears) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.heard...)
}

// TestBackgroundIsTheSameAfterACrash: the process dies while the model is asked the first time. By then the thread has
// changed; the model is asked again with what it was asked with before.
func TestBackgroundIsTheSameAfterACrash(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := &thread{}
	r.say(bob, "0.1", "the first invoice")
	b.reads(r)
	m := &ears{}
	m.model = func(n int) ([]agent.Item, error) {
		if n == 1 {
			r.say(bob, "0.2", "another invoice")
			b.mortal.kill()
		}
		return nil, nil
	}
	b.model(m)
	b.start()
	id := b.submitAt(inThread)
	b.until("the crash", func() bool { return b.mortal.dead.Load() })
	b.reopen()
	b.reads(r)
	b.start()
	b.reaches(id, approvals.RunDone)
	heard := m.all()
	if len(heard) != 2 || heard[0] != heard[1] || !strings.Contains(heard[0], "the first invoice") {
		t.Errorf("heard %q", heard)
	}
	if r.asked != 1 {
		t.Errorf("the thread was read %d times", r.asked)
	}
	if got := b.run(id); got.Input != "please" || !strings.Contains(got.Background.Text, "the first invoice") {
		t.Errorf("recorded: input %q, background %+v", got.Input, got.Background)
	}
}

// TestBackgroundOfARetryIsThatOfTheFirstTry: what was written since belongs to later requests.
func TestBackgroundOfARetryIsThatOfTheFirstTry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := &thread{}
	r.say(bob, "0.1", "the first invoice")
	b.reads(r)
	m := &ears{model: func(n int) ([]agent.Item, error) {
		if n == 1 {
			return nil, errors.New("no credit left")
		}
		return nil, nil
	}}
	b.model(m)
	b.start()
	id := b.submitAt(inThread)
	b.reaches(id, approvals.RunFailed)
	r.say(bob, "0.2", "another invoice")
	again, err := b.service.RetryRun(t.Context(), approvals.RunRetry{Workspace: ws, Run: id, By: ann})
	if err != nil {
		t.Fatal(err)
	}
	b.reaches(again.Run, approvals.RunDone)
	heard := m.all()
	last := heard[len(heard)-1]
	if strings.Contains(last, "another invoice") || !strings.Contains(last, "the first invoice") || r.asked != 1 {
		t.Errorf("the thread was read %d times; heard %q", r.asked, last)
	}
}

// TestBackgroundIsBounded: the newest remarks are read, as far as there is room, and what is left out is said.
func TestBackgroundIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n, bytes int
		want     int
	}{"many": {80, 10, 50}, "long": {80, 2000, 8}, "one": {1, 10_000, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := &thread{}
			for i := range c.n {
				r.say(bob, fmt.Sprintf("0.%d", i), fmt.Sprintf("remark-%02d %s", i, strings.Repeat("é", c.bytes/2)))
			}
			b.reads(r)
			b.model(&ears{})
			b.start()
			got := b.reaches(b.submitAt(inThread), approvals.RunDone).Background.Text
			n := strings.Count(got, "remark-")
			if n < c.want || n > c.want+2 || len(got) > 20<<10 {
				t.Errorf("%d remarks in %d bytes", n, len(got))
			}
			if older := strings.Contains(got, "Older messages"); older != (c.n > 1) {
				t.Errorf("says that something was left out: %v", older)
			}
			if c.n == 1 && !strings.Contains(got, `"left_out":"`) {
				t.Errorf("a remark was cut in silence: %s", got)
			}
			if c.n > 1 && !strings.Contains(got, "remark-79") {
				t.Errorf("the newest is missing: %s", got)
			}
		})
	}
}

// TestBackgroundLeavesOutWhoCannotBeLookedUp: when nobody knows who somebody is, nothing of them is read.
func TestBackgroundLeavesOutWhoCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := &thread{}
	for i, u := range []approvals.UserID{guest, out, "T1/U404", "T2/U1", ""} {
		r.say(u, fmt.Sprintf("0.%d", i), "canary")
	}
	elsewhere := approvals.UserID("T2/U1")
	b.people.persons[elsewhere] = approvals.Person{ID: elsewhere, Regular: true}
	b.people.channels["C1"] = append(b.people.channels["C1"], elsewhere)
	r.say(cara, "0.9", "heard")
	toBot := approvals.Remark{Message: "0.91", By: cara, ToBot: true, At: time.Now(), Text: "canary"}
	r.remarks = append(r.remarks, toBot)
	b.reads(r)
	b.model(&ears{})
	b.start()
	got := b.reaches(b.submitAt(inThread), approvals.RunDone).Background.Text
	if strings.Contains(got, "canary") || !strings.Contains(got, "heard") || !strings.Contains(got, "here): 5.") {
		t.Errorf("read: %s", got)
	}
}

// TestBackgroundIsNobodysWithoutRequesters: an empty set of people lets nobody's words in.
func TestBackgroundIsNobodysWithoutRequesters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := &thread{}
	r.say(bob, "0.1", "canary")
	b.reads(r)
	b.worker.Requesters = nil
	b.model(&ears{})
	b.start()
	if got := b.reaches(b.submitAt(inThread), approvals.RunDone).Background.Text; strings.Contains(got, "canary") {
		t.Errorf("read: %s", got)
	}
}

// TestBackgroundOfAQueuedMessageReachesBackToTheOneBefore: what was written while the first run was at work is read by
// the second, though the bot has spoken since.
func TestBackgroundOfAQueuedMessageReachesBackToTheOneBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, release := &thread{}, make(chan struct{})
	r.say(bob, "0.1", "before both")
	b.reads(r)
	m := &ears{}
	m.model = func(n int) ([]agent.Item, error) {
		if n == 1 {
			<-release
		}
		return nil, nil
	}
	b.model(m)
	b.start()
	first := b.submission(ann, inThread, "please")
	receipt, err := b.service.Submit(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	b.until("the model is asked", func() bool { return len(m.all()) == 1 })
	r.say(ann, first.Message, "please")
	r.say(bob, "1.11", "between the two")
	second := b.submission(ann, inThread, "again")
	second.Files = []approvals.File{{ID: "F1", Name: "scan.pdf", Size: 120_000}}
	if _, err := b.service.Submit(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.remarks = append(r.remarks,
		approvals.Remark{Message: second.Message, By: ann, ToBot: true, At: time.Now(), Text: "again"},
		approvals.Remark{Message: "1.99", Own: true, Run: receipt.Run, At: time.Now()})
	r.mu.Unlock()
	close(release)
	b.until("both are answered", func() bool { return len(m.all()) == 2 })
	got := m.all()[1]
	if strings.Count(got, "before both") != 1 || strings.Count(got, "between the two") != 1 ||
		!strings.Contains(got, "scan.pdf (120 KB)") {
		t.Errorf("the second run heard %s", got)
	}
	b.until("the file is spoken of", func() bool {
		for _, p := range b.surface.all() {
			if strings.Contains(p.text, "attached scan.pdf (120 KB), which I cannot read because it is no text file.") {
				return true
			}
		}
		return false
	})
}

// TestBackgroundBeginsBehindTheBotsLastWord where nobody knows any more of which run that was.
func TestBackgroundBeginsBehindTheBotsLastWord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := &thread{}
	r.say(bob, "0.1", "long ago")
	r.remarks = append(r.remarks, approvals.Remark{Message: "0.2", Own: true, Run: "run_gone", At: time.Now()})
	r.say(bob, "0.3", "since then")
	b.reads(r)
	b.model(&ears{})
	b.start()
	got := b.reaches(b.submitAt(inThread), approvals.RunDone).Background.Text
	if strings.Contains(got, "long ago") || !strings.Contains(got, "since then") {
		t.Errorf("read: %s", got)
	}
}

// TestRunWaitsForItsThread: a run is put off while its thread cannot be read, also one that has waited for others
// before it began, and longer where the surface says when to come back. When it goes on without, model and people are
// told.
func TestRunWaitsForItsThread(t *testing.T) {
	t.Parallel()
	crowd := &approvals.RetryError{After: 20 * time.Second, Err: errors.New("asked to wait")}
	for name, c := range map[string]struct {
		err    error
		age    time.Duration
		failed int
		waits  bool
	}{
		"at once":                          {errors.New("down"), 0, 0, true},
		"within the first minute":          {errors.New("down"), 50 * time.Second, 50, true},
		"after a minute of tries":          {errors.New("down"), 70 * time.Second, 5, false},
		"begun late":                       {errors.New("down"), time.Hour, 0, true},
		"begun late, and tried":            {errors.New("down"), time.Hour, 5, false},
		"in a crowd":                       {crowd, 25 * time.Minute, 70, true},
		"in a crowd that does not end":     {crowd, 31 * time.Minute, 90, false},
		"in a crowd, begun late":           {crowd, time.Hour, 0, true},
		"where nobody may ever read there": {&approvals.UnreadableError{Why: "it is closed"}, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				r := &thread{err: c.err}
				r.say(bob, "0.1", "the invoice is due")
				b.reads(r)
				m := &ears{}
				b.model(m)
				step := b.step()
				id := b.submitAt(inThread)
				time.Sleep(c.age)
				job := runJob(id)
				job.Attempts = c.failed
				err := step(job)
				if waits := errors.Is(err, c.err); waits != c.waits || waits != (len(m.all()) == 0) {
					t.Fatalf("%v; the model was asked %d times", err, len(m.all()))
				}
				if c.waits {
					r.mu.Lock()
					r.err = nil
					r.mu.Unlock()
					if err := step(job); err != nil {
						t.Fatal(err)
					}
				}
				if err := step(deliverJob(inThread)); err != nil {
					t.Fatal(err)
				}
				told := slices.ContainsFunc(b.surface.all(), func(p post) bool {
					return strings.Contains(p.text, "could not be read just then")
				})
				_, never := errors.AsType[*approvals.UnreadableError](c.err)
				heard := strings.Join(m.all(), "\n")
				if told == (c.waits || never) || strings.Contains(heard, "could not be read") == c.waits ||
					strings.Contains(heard, "invoice is due") != c.waits {
					t.Errorf("people were told: %v; the model heard %s", told, heard)
				}
			})
		})
	}
}
