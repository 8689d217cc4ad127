package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"countersign/internal/app/demo"
)

type demoCommand struct {
	Headless bool   `help:"Play a story in the terminal, check every step, and end by itself."`
	Keep     string `help:"Work in this new folder and leave everything there." placeholder:"DIR"`
	Listen   string `help:"Where the page is; a free port when left out." placeholder:"HOST:PORT"`
}

// Help is the text below the usage line.
func (demoCommand) Help() string {
	return `Starts a local Slack workspace with a page for the browser, a payments service, and the real bot with a scripted model.
With OPENAI_API_KEY set, the bot uses the real model (never with --headless). Everything listens on this machine only.

Example:

    countersign demo --headless --keep ./demo-files
`
}

// Run shows the program at work.
func (c *demoCommand) Run(ctx context.Context, p *Program) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cfg := demo.Config{Executable: self, Environ: p.Environ, Listen: c.Listen, Keep: c.Keep, Out: p.Stdout}
	if c.Headless {
		return demo.Play(ctx, cfg)
	}
	stage, err := demo.New(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(stage.Wait(ctx), stage.Close())
}
