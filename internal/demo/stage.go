package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/botprocess"
	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// Config says how to set the stage.
type Config struct {
	// Executable is the program itself.
	Executable string
	// Environ is what the bot's environment starts from. OPENAI_API_KEY in it makes the bot use the real model.
	Environ []string
	// Agents is the agents file to run: one of those in the folder examples or, with the real model, any. Empty: the
	// demo's own.
	Agents string
	// Listen is where the workspace's page is; empty means a free port.
	Listen string
	// Keep is a folder to work in and leave behind; empty means a temporary one that is removed.
	Keep string
	// Scripted uses the script even when there is a key.
	Scripted bool
	// Out receives what people should read.
	Out io.Writer
}

// ErrConfig is wrapped by errors about what a Config asks for: an agents file that cannot be used, a folder that holds
// something, an address that nobody can listen on.
var ErrConfig = errors.New("configuration of the demo")

// configError is what is wrong, without the words of ErrConfig in front.
type configError struct{ error }

func (e configError) Unwrap() []error { return []error{ErrConfig, e.error} }

// The people and the channel of the demo.
const (
	ann     = "U0ANN"  // asks
	ben     = "U0BEN"  // may decide
	cleo    = "U0CLEO" // may decide
	gus     = "U0GUS"  // a guest: may not
	channel = "C0PAYMENTS"

	financeGroup     = "S0FINANCE"     // Ben
	controllersGroup = "S0CONTROLLERS" // Cleo

	workdir = "work" // the folder that agents may work in, in the demo's
)

// Stage is everything the demo needs, running.
type Stage struct {
	cfg       Config
	example   *example // nil with an agents file of one's own
	agents    string   // path of the agents file
	dir       string
	workspace *slackdev.Workspace
	payments  *Payments
	model     *openaidev.Server // nil with the real model
	bot       *botprocess.Process
	again     chan struct{} // somebody wants to start over
}

// New sets the stage and starts the bot. Close takes it down.
func New(ctx context.Context, cfg Config) (*Stage, error) {
	s := &Stage{cfg: cfg, again: make(chan struct{}, 1)}
	if err := s.set(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stage) set(ctx context.Context) error {
	if err := s.choose(); err != nil {
		return err
	}
	if err := s.makeFolder(); err != nil {
		return err
	}
	if err := s.fillFolder(); err != nil {
		return err
	}
	var err error
	if s.payments, err = StartPayments(); err != nil {
		return err
	}
	room := room{name: "agents", topic: "Where agents work", tries: ownTries}
	if s.example != nil {
		room = s.example.room
	}
	if s.cfg.Scripted || s.key() == "" {
		cfg := openaidev.Config{Script: s.example.script(), Pace: 60 * time.Millisecond} // to be seen writing
		if s.cfg.Scripted {
			cfg.Pace = 5 * time.Millisecond
		}
		if s.model, err = openaidev.Start(cfg); err != nil {
			return err
		}
	}
	s.workspace, err = slackdev.Start(slackdev.Config{
		Addr:  s.cfg.Listen,
		Users: slackdev.DefaultUsers(),
		Channels: []slackdev.Channel{{
			ID: channel, Name: room.name, Topic: room.topic, Members: []string{ann, ben, cleo, gus}, BotMember: true,
		}},
		UserGroups: []slackdev.UserGroup{
			{ID: financeGroup, Handle: "finance", Name: "Finance", Users: []string{ben}},
			{ID: controllersGroup, Handle: "controllers", Name: "Controllers", Users: []string{cleo}},
		},
		Commands:  []string{"/approvals"},
		Shortcuts: []slackdev.Shortcut{{Name: "Pending approvals", CallbackID: "approvals_list"}},
		Tries:     room.tries, StartOver: s.startOver(),
	})
	switch {
	case err != nil && s.cfg.Listen != "":
		return configError{fmt.Errorf("--listen %s: %w", s.cfg.Listen, err)}
	case err != nil:
		return err
	}
	return s.startBot(ctx)
}

// program is this program, as the demo starts it.
func (s *Stage) program() *botprocess.Program {
	return &botprocess.Program{Executable: s.cfg.Executable, Dir: s.dir, Environ: s.environ()}
}

func (s *Stage) workdir() string { return filepath.Join(s.dir, workdir) }

func (s *Stage) makeFolder() error {
	if s.cfg.Keep == "" {
		dir, err := os.MkdirTemp("", "countersign-demo-")
		if err != nil {
			return fmt.Errorf("folder of the demo: %w", err)
		}
		s.dir = dir
		return nil
	}
	dir, err := filepath.Abs(s.cfg.Keep)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("folder of the demo: %w", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return configError{fmt.Errorf("folder of the demo: %s is not empty; choose another one", dir)}
	}
	s.dir = dir
	return nil
}

// startBot starts the bot and waits until it is connected to the workspace.
func (s *Stage) startBot(ctx context.Context) error {
	var err error
	if s.bot, err = s.program().Start("run"); err != nil {
		return err
	}
	bot := s.bot
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	connected := make(chan error, 1)
	go func() { connected <- s.workspace.WaitFor(ctx, func() bool { return s.workspace.Connections() > 0 }) }()
	select {
	case err = <-connected:
	case <-bot.Exited():
		err = fmt.Errorf("the bot has ended: %w", bot.Err())
		cancel()
		<-connected
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("the bot does not connect: %w\n%s", err, s.program().LogTail())
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitUsage {
		return configError{err}
	}
	return err
}

// exitUsage is how the program ends when it cannot use its environment, which the demo makes, or its agents file.
const exitUsage = 2

// ownVariables begin the names that the demo sets itself or does without, and so takes out of the environment it was
// started with: what happens in it is sent to no collector of traces.
var ownVariables = []string{"SLACK_", "COUNTERSIGN_", "OPENAI_", "OTEL_"}

// environ is the environment of the bot. Of what the agents file may use, an example gets what the demo has, and a
// file of one's own what it was started with, if there is such a thing.
func (s *Stage) environ() []string {
	given := slices.DeleteFunc(slices.Clone(s.cfg.Environ), func(e string) bool {
		return slices.ContainsFunc(ownVariables, func(prefix string) bool { return strings.HasPrefix(e, prefix) })
	})
	offered := []string{
		"PAYMENTS_URL=" + s.payments.URL(), "PAYMENTS_TOKEN=" + s.payments.Token(), "WORKDIR=" + s.workdir(),
		"COUNTERSIGN=" + s.cfg.Executable, "FINANCE_GROUP=" + financeGroup, "CONTROLLERS_GROUP=" + controllersGroup,
	}
	env := slices.Concat(given, offered) // the last one counts
	if s.example == nil {
		env = slices.Concat(offered, given)
	}
	c := s.workspace.Config()
	env = append(env,
		"SLACK_BOT_TOKEN="+c.BotToken,
		"SLACK_APP_TOKEN="+c.AppToken,
		"SLACK_API_URL="+s.workspace.APIURL(),
		"COUNTERSIGN_AGENTS="+s.agents,
		"COUNTERSIGN_STORE=bolt:countersign.db",
		"COUNTERSIGN_LISTEN=127.0.0.1:0",
	)
	if s.model != nil {
		return append(env, "OPENAI_API_KEY=sk-demo", "OPENAI_BASE_URL="+s.model.URL())
	}
	for _, e := range s.cfg.Environ {
		if strings.HasPrefix(e, "OPENAI_") {
			env = append(env, e)
		}
	}
	return env
}

// key returns the key for the real model, if the environment has one.
func (s *Stage) key() string {
	for _, e := range s.cfg.Environ {
		if value, ok := strings.CutPrefix(e, "OPENAI_API_KEY="); ok {
			return value
		}
	}
	return ""
}

// Wait tells people where to look and what to try, and returns when ctx ends, or with an error when the bot does.
func (s *Stage) Wait(ctx context.Context) error {
	model := "a scripted model"
	if s.model == nil {
		model = "the real model"
	}
	left := "nothing is left behind"
	if s.cfg.Keep != "" {
		left = "everything stays in " + s.dir
	}
	ideas := "mention @countersign in #agents"
	if s.example != nil {
		ideas = s.example.ideas
	}
	fmt.Fprintf(s.cfg.Out, `A workspace with the bot in it: %s
The bot is real, its store is real, the model is %s. %s

Try:  as Ann, %s, stop the bot with kill -9 %d meanwhile: this program starts it again
Stop: Ctrl-C; %s
`, s.workspace.URL(), model, s.place(), ideas, s.bot.Pid(), left)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.again:
			if err := s.restart(ctx); err != nil {
				return err
			}
			continue
		case <-s.bot.Exited():
		}
		if ctx.Err() != nil { // the bot was told to stop too
			return nil
		}
		if s.bot.ExitedByItself() { // by itself, not by a signal
			return fmt.Errorf("the bot has ended: %w\n%s", s.bot.Err(), s.program().LogTail())
		}
		fmt.Fprintln(s.cfg.Out, "The bot was killed; starting it again.")
		if err := s.startBot(ctx); err != nil {
			return err
		}
		fmt.Fprintf(s.cfg.Out, "It is back, as process %d.\n", s.bot.Pid())
	}
}

// place says where to look at what the agents do.
func (s *Stage) place() string {
	if s.example == nil {
		return "The folder that agents work in: " + s.workdir()
	}
	return s.example.place(s)
}

// startOver is what the page calls to begin again; nil where what was done is to be kept.
func (s *Stage) startOver() func() {
	if s.cfg.Keep != "" {
		return nil
	}
	return func() {
		select {
		case s.again <- struct{}{}:
		default: // it was asked for already
		}
	}
}

// restart sets the stage anew on the same address: an empty workspace, an empty store, all invoices open.
func (s *Stage) restart(ctx context.Context) error {
	fmt.Fprintln(s.cfg.Out, "Starting over.")
	s.cfg.Listen = strings.TrimSuffix(strings.TrimPrefix(s.workspace.URL(), "http://"), "/")
	if err := s.Close(); err != nil {
		return err
	}
	s.bot, s.workspace, s.payments, s.model, s.agents, s.dir = nil, nil, nil, nil, "", ""
	if err := s.set(ctx); err != nil {
		return err
	}
	fmt.Fprintf(s.cfg.Out, "Everything is as at the beginning, the bot is process %d. %s\n", s.bot.Pid(), s.place())
	return nil
}

// Close stops everything and removes the temporary folder.
func (s *Stage) Close() error {
	var errs []error
	if s.bot != nil {
		s.bot.Stop() // how it ends no longer matters
	}
	if s.workspace != nil {
		errs = append(errs, s.workspace.Close())
	}
	if s.model != nil {
		errs = append(errs, s.model.Close())
	}
	if s.payments != nil {
		errs = append(errs, s.payments.Close())
	}
	if s.dir != "" && s.cfg.Keep == "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
