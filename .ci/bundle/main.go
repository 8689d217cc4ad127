// Bundle makes what a release consists of beside the program itself: a container image without a daemon, and the list
// of what the program is made of. It also looks into an image, as somebody would who does not trust its maker.
//
//	bundle image PROGRAM OUT.tar      make the image
//	bundle inspect IMAGE.tar PROGRAM  check what is in it, and print that
//	bundle unpack IMAGE.tar DIR       write its files into a folder
//	bundle sbom PROGRAM OUT.json      list the modules that the program was built from, as SPDX 2.3
package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("use: bundle image|inspect|unpack|sbom FROM TO")
	}
	switch args[0] {
	case "image":
		return makeImage(args[1], args[2])
	case "inspect":
		return inspect(os.Stdout, args[1], args[2])
	case "unpack":
		return unpack(args[1], args[2])
	case "sbom":
		return makeSBOM(args[1], args[2])
	}
	return fmt.Errorf("there is no %q", args[0])
}

// build is what a program says of how it was built.
type build struct {
	*buildinfo.BuildInfo
	Version, Revision, OS, Arch string
	Time                        time.Time // of the commit
}

// readBuild reads it from the file of the program. A program that was built from no commit, or with changes, is none
// to publish.
func readBuild(path string) (*build, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &build{BuildInfo: info, Version: info.Main.Version}
	modified := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			modified = s.Value
		case "vcs.time":
			if b.Time, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return nil, err
			}
		case "GOOS":
			b.OS = s.Value
		case "GOARCH":
			b.Arch = s.Value
		}
	}
	if b.Revision == "" || b.Time.IsZero() || modified != "false" {
		return nil, fmt.Errorf("%s was built from no commit, or with changes: revision %q, modified %q", path, b.Revision,
			modified)
	}
	return b, nil
}
