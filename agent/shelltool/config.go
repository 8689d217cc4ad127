package shelltool

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/agent"
	"countersign/agent/internal/location"
	"countersign/agent/internal/procgroup"
	"countersign/agent/internal/redact"
)

// Defaults of a Config.
const (
	DefaultName      = "shell"
	DefaultShell     = "/bin/sh"
	DefaultTimeout   = 60 * time.Second
	DefaultMaxOutput = 64 << 10

	// DefaultPath is the PATH of commands. Directories that users can write to are not in it.
	DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// DefaultHome is the HOME of commands: none, so that nobody's settings and credentials are used by accident.
	DefaultHome = "/nonexistent"
	// DefaultLang is the LANG of commands.
	DefaultLang = "C.UTF-8"
)

// minOutput is the least a Config may keep of the output: enough for a message at each end.
const minOutput = 256

// Config declares a tool that runs commands.
type Config struct {
	// Name is the tool's; empty: [DefaultName]. Empty Description: one that says how to call it. Version is as in
	// [agent.Tool].
	Name, Description, Version string

	// Workdir is where commands run. It must exist; links in it are followed once, by New.
	Workdir string
	// WrittenWorkdir is the directory as the operator wrote it, with variables as ${NAME}. It is stored and shown, and
	// decisions are bound to it, and to a digest of Workdir where that is another text. Empty: Workdir.
	WrittenWorkdir string
	// Env is the environment of commands beside PATH, HOME and LANG, which may be set here too. Decisions are bound to
	// the names; the values are never stored or shown. A PATH holds absolute directories only.
	Env map[string]string
	// WrittenEnv are the values of Env as the operator wrote them, by the same names: what stands there for a variable
	// is taken out of what commands print. It keeps a secret out of a log by accident, not from a command that means to
	// tell it.
	WrittenEnv map[string]string
	// Shell is the absolute path of the program that runs scripts, as SHELL -c -- SCRIPT. Empty: [DefaultShell].
	Shell string

	// Timeout bounds a call, all its commands together. A call may ask for less. Zero: [DefaultTimeout].
	Timeout time.Duration
	// MaxOutput bounds how many bytes of output a call returns: of what is longer, beginning and end are kept. At least
	// 256; zero: [DefaultMaxOutput].
	MaxOutput int

	// Native makes it the provider's own shell tool, see [agent.WireShell].
	Native bool
}

// declared is a Config that was checked and completed.
type declared struct {
	Config
	env    []string       // NAME=value, sorted
	asked  string         // the directory before links were followed
	hidden *redact.Output // of what commands print
}

func (c Config) check() (*declared, error) {
	d := &declared{Config: c, asked: c.Workdir}
	d.Name = cmp.Or(c.Name, DefaultName)
	d.WrittenWorkdir = cmp.Or(c.WrittenWorkdir, c.Workdir)
	d.Shell = cmp.Or(c.Shell, DefaultShell)
	d.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	d.MaxOutput = cmp.Or(c.MaxOutput, DefaultMaxOutput)
	switch {
	case !procgroup.Supported:
		return nil, d.wrong("type", "is not available on this system: commands cannot be stopped reliably here; "+
			"it needs Linux, macOS or another Unix")
	case c.Timeout < 0:
		return nil, d.wrong("timeout", "must not be negative")
	case d.MaxOutput < minOutput:
		return nil, d.wrong("max_output", fmt.Sprintf("must be at least %d bytes", minOutput))
	}
	if err := d.checkWorkdir(); err != nil {
		return nil, err
	}
	if err := d.checkEnv(); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(d.Shell) {
		return nil, d.wrong("shell", "must be an absolute path, as /bin/bash is")
	}
	if err := executable(d.Shell); err != nil {
		return nil, d.wrong("shell", err.Error())
	}
	return d, nil
}

func (d *declared) wrong(field, problem string) error {
	return fmt.Errorf("%w: shell tool %q: %s %s", agent.ErrConfig, d.Name, field, problem)
}

// checkWorkdir makes the directory absolute and free of links. Its errors name it as it was written.
func (d *declared) checkWorkdir() error {
	if d.Workdir == "" {
		return d.wrong("workdir", "is missing; name the directory that commands run in")
	}
	abs, err := filepath.Abs(d.Workdir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return d.wrong("workdir", fmt.Sprintf("%s cannot be used: %v", d.WrittenWorkdir, cause(err)))
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return d.wrong("workdir", d.WrittenWorkdir+" is not a directory")
	}
	d.Workdir = abs
	return nil
}

func (d *declared) checkEnv() error {
	env := map[string]string{"PATH": DefaultPath, "HOME": DefaultHome, "LANG": DefaultLang}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		switch value := d.Env[name]; {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return d.wrong("env", fmt.Sprintf("has the name %q, which no variable can have", name))
		case strings.Contains(value, "\x00"):
			return d.wrong("env "+name, "has a value with a zero byte in it")
		default:
			env[name] = value
		}
	}
	for _, dir := range filepath.SplitList(env["PATH"]) {
		if !filepath.IsAbs(dir) {
			return d.wrong("env PATH",
				"has a directory in it that is not absolute; what it finds would depend on where a command runs")
		}
	}
	d.Env = env
	d.hidden = d.credentials()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		d.env = append(d.env, name+"="+env[name])
	}
	return nil
}

// credentials are what is taken out of what commands print. The name of a file that is there is none.
func (d *declared) credentials() *redact.Output {
	var c redact.Credentials
	for name, written := range d.WrittenEnv {
		value := d.Env[name]
		if _, err := os.Stat(value); err != nil || !filepath.IsAbs(value) {
			c.AddExpanded(written, value)
		}
	}
	return c.Output()
}

// binding lists what decisions are bound to: the working directory as written, the shell, names of variables.
func (d *declared) binding() []string {
	binding := []string{"workdir " + location.Directory(d.WrittenWorkdir, d.asked), "shell " + d.Shell}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		binding = append(binding, "env "+name)
	}
	return binding
}
