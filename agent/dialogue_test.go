package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/agent/trace"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestDialogues plays testdata/dialogues/*.txtar. Each file tells what a rule demands in its comment and proves it in
// its files:
//
//	setup    the agents and the runner, one line each (dialogue.setup knows the words)
//	model …  the model's script, see package scripted; "model@NAME …" that of another agent
//	play     commands (dialogue.command knows the words), each followed by what it led to, in lines that begin with >
//	items    the whole conversation at the end
//
// What is expected is rewritten with -update; read the difference before believing it.
func TestDialogues(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/dialogues/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no dialogues", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(data), nil)
			if got == string(data) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Error(gocmp.Diff(string(data), got))
		})
	}
}

// play plays a dialogue, followed by the tracer if there is one, and returns it with what really happened.
func play(t *testing.T, text string, tracer trace.Tracer) string {
	t.Helper()
	archive := txtar.Parse([]byte(text))
	d := &dialogue{
		t:      t,
		agents: map[string]*agent.Agent{},
		models: models(t, archive),
		sets:   map[string]*testToolset{},
		runner: &agent.Runner{Tracer: tracer},
	}
	d.agent = &agent.Agent{Name: "ops", Model: d.models["ops"]}
	d.agents["ops"], d.current = d.agent, d.agent
	d.options = agent.RunOptions{Context: &agent.RunContext{ID: "run_1"}, Checkpoint: d.checkpoint}
	for i := range archive.Files {
		f := &archive.Files[i]
		switch {
		case f.Name == "setup":
			for line := range strings.Lines(string(f.Data)) {
				if w := words(t, line); len(w) > 0 && w[0][0] != '#' {
					d.setup(w)
				}
			}
		case f.Name == "play":
			f.Data = []byte(d.play(string(f.Data)))
		case f.Name == "items":
			f.Data = []byte(d.items())
		case f.Name == "session":
			f.Data = []byte(d.sessionItems())
		case !strings.HasPrefix(f.Name, "model"):
			t.Fatalf("unknown file %q", f.Name)
		}
	}
	return string(txtar.Format(archive))
}

// models reads the scripts of the agents: the files "model …" are that of ops, "model@NAME …" those of others.
func models(t *testing.T, archive *txtar.Archive) map[string]*scripted.Model {
	t.Helper()
	scripts := map[string][]string{"ops": nil}
	for _, f := range archive.Files {
		name, _, ok := strings.Cut(strings.TrimPrefix(f.Name, "model"), " ")
		if !strings.HasPrefix(f.Name, "model") || !ok {
			continue
		}
		name = cmp.Or(strings.TrimPrefix(name, "@"), "ops")
		scripts[name] = append(scripts[name], string(f.Data))
	}
	models := make(map[string]*scripted.Model, len(scripts))
	for name, script := range scripts {
		model, err := scripted.Parse(script...)
		if err != nil {
			t.Fatal(err)
		}
		models[name] = model
	}
	return models
}

// dialogue is a run that is being played.
type dialogue struct {
	t       *testing.T
	agent   *agent.Agent // the one that runs are started with
	current *agent.Agent // the one that is being set up
	agents  map[string]*agent.Agent
	models  map[string]*scripted.Model
	sets    map[string]*testToolset
	world   string
	runner  *agent.Runner
	options agent.RunOptions
	session *agent.MemorySession
	state   *agent.RunState
	journal *faultyJournal
	noted   map[string]agent.Interruption // questions that were remembered

	head   json.RawMessage // as a store would keep it
	chunks []json.RawMessage
	kept   []byte
	cancel context.CancelFunc // of the run that is being played
	crash  int                // the process dies at this checkpoint, counted from 1
	dead   bool               // it did

	mu  sync.Mutex
	ran []string // since the last command, with the gates that were asked
}

var word = regexp.MustCompile(`[^\s"]*"(?:[^"\\]|\\.)*"|\S+`)

// words splits a line at spaces, but not inside double quotes: message="not this" is one word.
func words(t *testing.T, line string) []string {
	list := word.FindAllString(line, -1)
	for i, w := range list {
		option, literal, ok := strings.Cut(w, `"`)
		if !ok {
			continue
		}
		text, err := strconv.Unquote(`"` + literal)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list[i] = option + text
	}
	return list
}

// context returns the context of a run, which cancelled ends.
func (d *dialogue) context() context.Context {
	ctx, cancel := context.WithCancel(d.t.Context())
	d.cancel = cancel
	return ctx
}

func (d *dialogue) cancelled() error {
	d.cancel()
	return context.Canceled
}

func (d *dialogue) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ran = append(d.ran, what)
}

func (d *dialogue) checkpoint(_ context.Context, delta agent.Delta) error {
	if d.crash > 0 {
		d.crash--
		d.dead = d.crash == 0
	}
	if d.dead {
		return errors.New("power failure")
	}
	if delta.From == 0 {
		d.chunks = nil
	}
	d.head = delta.Head
	if delta.Count > 0 {
		d.chunks = append(d.chunks, delta.Items)
	}
	return nil
}
