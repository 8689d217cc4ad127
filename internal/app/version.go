package app

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionCommand struct {
	JSON bool
}

// command is the command line's view of it.
func (c *versionCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  countersign version --json",
		Args:    none,
		RunE:    l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.JSON, "json", false, "print JSON")
	return cmd
}

// Run prints what was built from which commit with which Go.
func (c *versionCommand) Run(_ context.Context, p *Program) error {
	v := buildVersion()
	if c.JSON {
		return json.NewEncoder(p.Stdout).Encode(v)
	}
	_, err := fmt.Fprintln(p.Stdout, "countersign", v)
	return err
}

type version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func (v version) String() string { return fmt.Sprintf("%s (%s, %s)", v.Version, v.Commit, v.Go) }

func buildVersion() version {
	v := version{Version: "devel", Commit: "unknown commit", Go: "unknown Go"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = info.GoVersion
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	modified := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+changes"
			}
		}
	}
	v.Commit += modified
	return v
}
