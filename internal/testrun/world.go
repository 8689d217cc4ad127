package testrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agentsfile"
	"countersign/internal/botprocess"
	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
	"countersign/internal/testfile"
)

// Config says how tests are played.
type Config struct {
	// Executable is the program itself.
	Executable string
	// Environ is the environment of this process; the bot gets only what finds programs and folders of it.
	Environ []string
	// Timeout bounds every wait.
	Timeout time.Duration
	// AllowTools are those of Permissions that the test may use.
	AllowTools []string
}

// ErrConfig is wrapped by errors about what a test cannot be played with: its agents file, or tools it must not use.
var ErrConfig = errors.New("test that cannot be played")

// configError is what is wrong, without the words of ErrConfig in front.
type configError struct{ error }

func (e configError) Unwrap() []error { return []error{ErrConfig, e.error} }

// world is everything that a test has to itself.
type world struct {
	cfg  Config
	file *testfile.File
	test *testfile.Test

	dir        string
	env        map[string]string // as the test file gives it to the agents file
	agents     *agentsfile.File
	agentsPath string
	triggers   bool     // the agents file has some
	listen     []string // where the bot listens, as variables

	violations *violations
	receipts   *receipts
	servers    map[string]*server
	script     *script
	model      *openaidev.Server
	workspace  *slackdev.Workspace
	bot        *botprocess.Process
}

// newWorld makes everything and starts the bot. Close takes it down, also after an error.
func newWorld(ctx context.Context, cfg Config, f *testfile.File, t *testfile.Test) (*world, error) {
	v := new(violations)
	w := &world{cfg: cfg, file: f, test: t, violations: v, receipts: &receipts{violations: v},
		servers: make(map[string]*server)}
	return w, w.set(ctx)
}

func (w *world) set(ctx context.Context) error {
	for _, begin := range []func() error{
		w.makeFolder, w.startServers, w.makeEnv, w.readAgents, w.chooseAddress, w.startModel,
	} {
		if err := begin(); err != nil {
			return err
		}
	}
	var err error
	if w.workspace, err = slackdev.Start(w.slack()); err != nil {
		return configError{err}
	}
	return w.startBot(ctx)
}

func (w *world) workdir() string   { return filepath.Join(w.dir, "work") }
func (w *world) storePath() string { return filepath.Join(w.dir, "countersign.db") }

// longestRoot is how long the name of the folder for temporary files may be: the bot's socket is a file below it, such
// as countersign-test-4294967295/countersign.db.sock, and such names end at a hundred bytes (internal/control).
const longestRoot = 50

// tempRoot is where folders of tests are made; empty means the system's own choice.
func tempRoot() string {
	if len(os.TempDir()) > longestRoot {
		if s, err := os.Stat("/tmp"); err == nil && s.IsDir() {
			return "/tmp"
		}
	}
	return ""
}

func (w *world) makeFolder() error {
	dir, err := os.MkdirTemp(tempRoot(), "countersign-test-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return fmt.Errorf("folder of the test: %w", err)
	}
	w.dir = dir
	if err := os.Mkdir(w.workdir(), 0o700); err != nil {
		return fmt.Errorf("folder of the test: %w", err)
	}
	for name, text := range w.file.Files {
		if err := w.writeFile(name, text); err != nil {
			return fmt.Errorf("folder of the test: %w", err)
		}
	}
	return nil
}

// writeFile writes a file of the folder that agents work in; scripts can be run.
func (w *world) writeFile(name, text string) error {
	path, mode := filepath.Join(w.workdir(), filepath.FromSlash(name)), os.FileMode(0o600)
	if strings.HasPrefix(text, "#!") {
		mode = 0o700
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

func (w *world) startServers() error {
	for name, s := range w.file.Servers {
		stub, err := startServer(name, s, w.receipts)
		if err != nil {
			return err
		}
		w.servers[name] = stub
	}
	return nil
}

func (w *world) makeEnv() error {
	values := []string{"${dir}", w.workdir(), "${program}", w.cfg.Executable}
	for name, s := range w.servers {
		values = append(values, "${servers."+name+"}", s.url())
	}
	r := strings.NewReplacer(values...)
	w.env = make(map[string]string, len(w.file.Env))
	for name, value := range w.file.Env {
		w.env[name] = r.Replace(value)
	}
	return nil
}

func (w *world) startModel() error {
	w.script = &script{scripts: w.test.Model, violations: w.violations, kinds: kinds(w.agents),
		used: make(map[agentsfile.Position]bool)}
	var err error
	w.model, err = openaidev.Start(openaidev.Config{Script: w.script.rules()})
	return err
}

// slack is the workspace as the file describes it.
func (w *world) slack() slackdev.Config {
	// Only an agent that works for a while streams what it does, so a slow machine would have more messages than a fast
	// one.
	c := slackdev.Config{Users: []slackdev.User{}, Channels: []slackdev.Channel{}, NoStreams: true}
	for _, name := range slices.Sorted(maps.Keys(w.file.People)) {
		c.Users = append(c.Users, user(name, w.file.People[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(w.file.Channels)) {
		c.Channels = append(c.Channels, w.channel(name, w.file.Channels[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(w.file.Groups)) {
		c.UserGroups = append(c.UserGroups, w.group(name, w.file.Groups[name]))
	}
	return c
}

func user(name string, p testfile.Person) slackdev.User {
	u := slackdev.User{ID: p.ID, Name: strings.ToLower(name), RealName: p.Name}
	if p.Name == "" {
		u.RealName = name
	}
	switch p.Role {
	case "admin":
		u.Admin = true
	case "guest":
		u.Guest = true
	case "single_channel_guest":
		u.Guest, u.UltraRestricted = true, true
	case "deactivated":
		u.Deleted = true
	case "stranger":
		u.Stranger, u.TeamID = true, "T0OTHER"
	case "bot":
		u.Bot = true
	}
	return u
}

func (w *world) channel(name string, c testfile.Channel) slackdev.Channel {
	return slackdev.Channel{ID: c.ID, Name: strings.ToLower(name), Private: c.Private, ExtShared: c.Shared,
		Members: w.ids(c.Members), BotMember: true}
}

func (w *world) group(name string, g testfile.Group) slackdev.UserGroup {
	return slackdev.UserGroup{ID: g.ID, Handle: strings.ToLower(name), Name: name, Users: w.ids(g.Members)}
}

func (w *world) ids(names []string) []string {
	ids := make([]string, len(names))
	for i, n := range names {
		ids[i] = w.file.People[n].ID
	}
	return ids
}

// inherited are the variables that the bot gets of this process's environment.
var inherited = []string{"PATH", "HOME", "LANG", "TMPDIR", "TZ", "SYSTEMROOT", "XDG_RUNTIME_DIR"}

func (w *world) environ() []string {
	var env []string
	for _, e := range w.cfg.Environ {
		if name, _, _ := strings.Cut(e, "="); slices.Contains(inherited, strings.ToUpper(name)) {
			env = append(env, e)
		}
	}
	for name, value := range w.env {
		env = append(env, name+"="+value)
	}
	c := w.workspace.Config()
	env = append(env, w.listen...)
	return append(env, "SLACK_BOT_TOKEN="+c.BotToken, "SLACK_APP_TOKEN="+c.AppToken,
		"SLACK_API_URL="+w.workspace.APIURL(), "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL="+w.model.URL(),
		"COUNTERSIGN_AGENTS="+w.agentsPath, "COUNTERSIGN_STORE=bolt:"+w.storePath())
}

func (w *world) program() *botprocess.Program {
	return &botprocess.Program{Executable: w.cfg.Executable, Dir: w.dir, Environ: w.environ()}
}

// startBot starts the bot and waits until it is connected to the workspace.
func (w *world) startBot(ctx context.Context) error {
	bot, err := w.program().Start("run")
	if err != nil {
		return err
	}
	w.bot = bot
	ctx, cancel := context.WithTimeout(ctx, max(w.cfg.Timeout, minStart))
	defer cancel()
	connected := make(chan error, 1)
	go func() { connected <- w.workspace.WaitFor(ctx, func() bool { return w.workspace.Connections() > 0 }) }()
	select {
	case err = <-connected:
	case <-bot.Exited():
		cancel()
		<-connected
		err = fmt.Errorf("it has ended: %w", bot.Err())
	}
	if err != nil {
		return configError{fmt.Errorf("the bot does not start: %w\n%s", err, w.program().LogTail())}
	}
	return nil
}

// minStart is how long the bot may take to start, however short the waits of the test are.
const minStart = 20 * time.Second

// Close stops everything and removes the folder.
func (w *world) Close() error {
	var errs []error
	if w.bot != nil {
		w.bot.Stop() // how it ends no longer matters
	}
	if w.workspace != nil {
		errs = append(errs, w.workspace.Close())
	}
	if w.model != nil {
		errs = append(errs, w.model.Close())
	}
	for _, s := range w.servers {
		errs = append(errs, s.http.Close())
	}
	if w.dir != "" {
		errs = append(errs, os.RemoveAll(w.dir))
	}
	return errors.Join(errs...)
}
