package app

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
)

type versionCommand struct {
	JSON bool `help:"Print JSON."`
}

// Help is the text below the usage line.
func (versionCommand) Help() string {
	return "Example:\n\n    countersign version --json\n"
}

// Run prints what was built from which commit with which Go.
func (c *versionCommand) Run(p *Program) error {
	v := buildVersion()
	if c.JSON {
		return json.NewEncoder(p.Stdout).Encode(v)
	}
	_, err := fmt.Fprintf(p.Stdout, "countersign %s (%s, %s)\n", v.Version, v.Commit, v.Go)
	return err
}

type version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

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
