package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"countersign/internal/app/demo"
)

type demoCommand struct {
	Agents   string `help:"Run this agents file: one of examples/, or with OPENAI_API_KEY any." placeholder:"FILE"`
	Headless bool   `help:"Play a story in the terminal, check every step, and end by itself."`
	Keep     string `help:"Work in this new folder and leave everything there." placeholder:"DIR"`
	Listen   string `help:"Where the page is; a free port when left out." placeholder:"HOST:PORT"`
}

// Help is the text below the usage line.
func (demoCommand) Help() string {
	return `Starts a local Slack workspace with a page for the browser, a payments service, and the real bot with a scripted model.
With OPENAI_API_KEY set, the bot uses the real model (never with --headless). Everything listens on this machine only.

The files in examples/ have a script and a story each. They, and files of your own, find in their environment PAYMENTS_URL
and PAYMENTS_TOKEN (the payments service), WORKDIR (a temporary folder to work in), and COUNTERSIGN (this program).

Example:

    countersign demo --headless --keep ./demo-files
    countersign demo --agents examples/operations.yaml
    countersign demo --agents examples/research.yaml --headless
`
}

// Run shows the program at work.
func (c *demoCommand) Run(ctx context.Context, p *Program) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cfg := demo.Config{Executable: self, Environ: p.Environ, Listen: c.Listen, Keep: c.Keep, Agents: c.Agents, Out: p.Stdout}
	if c.Headless {
		return explainDemo(demo.Play(ctx, cfg))
	}
	stage, err := demo.New(ctx, cfg)
	if err != nil {
		return explainDemo(err)
	}
	return errors.Join(stage.Wait(ctx), stage.Close())
}

// explainDemo marks what a person mends on the command line or in the environment.
func explainDemo(err error) error {
	if errors.Is(err, demo.ErrNoScript) || errors.Is(err, fs.ErrNotExist) {
		return misconfigured(err)
	}
	return err
}

// libraryCommand is the MCP server of examples/research.yaml.
type libraryCommand struct {
	Dir string `arg:"" help:"The folder with the documents, as Markdown files."`
}

// Help is the text below the usage line.
func (libraryCommand) Help() string {
	return `Speaks the Model Context Protocol over standard input and output, until the input ends. Programs start it, people do not.

Example:

    countersign demo-mcp ./documents
`
}

// Run serves until the client hangs up.
func (c *libraryCommand) Run(ctx context.Context) error {
	return demo.ServeLibrary(ctx, c.Dir, buildVersion().Version)
}
