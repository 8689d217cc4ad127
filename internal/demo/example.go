package demo

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"countersign/examples"
	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// example is an agents file that the demo has a script and a story for.
type example struct {
	agents []byte // the file
	room   room
	ideas  string // what to try, after "as Ann, "
	place  func(*Stage) string
	files  []file // what the agents find to work on
	script func() openaidev.Script
	steps  func(*story) []step // the story, up to the end of the run
	// decisions is how many people make in the story.
	decisions int
}

// room is the channel that everything happens in, and what the page proposes to do there, in this order.
type room struct {
	name, topic string
	tries       []slackdev.Try
}

type file struct {
	name, text string
	mode       fs.FileMode
}

//go:embed agents.yaml
var agentsFile []byte

// exampleOf returns the example that the file is, byte for byte but for line ends: a script that acts on files and runs
// commands is for exactly what it was written for. It returns nil for other files.
func exampleOf(data []byte) *example {
	all := []example{bills(examples.Countersign), operations(), research(), finance()}
	i := slices.IndexFunc(all, func(e example) bool { return bytes.Equal(unixLines(e.agents), unixLines(data)) })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func unixLines(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// choose finds out which agents file is meant, and whether there is a model for it.
func (s *Stage) choose() error {
	if s.cfg.Agents == "" {
		own := bills(agentsFile)
		s.example = &own
		return nil
	}
	path, err := filepath.Abs(s.cfg.Agents)
	if err != nil {
		return fmt.Errorf("agents file: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return configError{fmt.Errorf("agents file: %w", err)}
	}
	s.agents, s.example = path, exampleOf(data)
	switch {
	case s.example != nil:
		return nil
	case s.cfg.Scripted:
		return configError{fmt.Errorf("no scripted model for this agents file: %s is not, or no longer, "+
			"one of the files in examples/, and only those have a story; leave --headless out", s.cfg.Agents)}
	case s.key() == "":
		return configError{fmt.Errorf("no scripted model for this agents file: %s is not, or no longer, "+
			"one of the files in examples/; set OPENAI_API_KEY to run it with the real model", s.cfg.Agents)}
	}
	return nil
}

// fillFolder puts the demo's own agents file into the folder, and what the agents are to work on.
func (s *Stage) fillFolder() error {
	if s.agents == "" {
		s.agents = filepath.Join(s.dir, "countersign.yaml")
		if err := os.WriteFile(s.agents, s.example.agents, 0o600); err != nil {
			return fmt.Errorf("agents file of the demo: %w", err)
		}
	}
	err := os.Mkdir(s.workdir(), 0o700)
	if err == nil && s.example != nil {
		for _, f := range s.example.files {
			err = errors.Join(err, os.WriteFile(filepath.Join(s.workdir(), f.name), []byte(f.text), f.mode))
		}
	}
	if err != nil {
		return fmt.Errorf("folder of the demo: %w", err)
	}
	return nil
}
