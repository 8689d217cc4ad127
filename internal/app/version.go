package app

import (
	"fmt"
	"runtime/debug"
)

// Version says what was built from which commit with which Go.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date,omitempty"` // of the commit, in UTC; empty when it is not known
	Go      string `json:"go"`
}

// String is what people read.
func (v Version) String() string {
	if v.Date == "" {
		return fmt.Sprintf("%s (%s, %s)", v.Version, v.Commit, v.Go)
	}
	return fmt.Sprintf("%s (%s of %s, %s)", v.Version, v.Commit, v.Date, v.Go)
}

// BuildVersion is the version of the running program.
func BuildVersion() Version {
	v := Version{Version: "devel", Commit: "unknown commit", Go: "unknown Go"}
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
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+changes"
			}
		}
	}
	v.Commit += modified
	return v
}
