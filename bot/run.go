package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrUninstalled is returned by Run when the app was removed from the workspace or its token revoked.
var ErrUninstalled = errors.New("the Slack app was removed from the workspace or its token revoked")

// drain is how long handlers under way may go on when Run ends.
const drain = 4 * time.Second

// Run takes in what people do until ctx ends, then lets handlers under way finish for a few seconds, and returns nil
// once everything it started is gone. It returns early with a *TokenError when Slack refuses a token, and with
// ErrUninstalled. Slack being unreachable is no reason to return.
func (b *Bot) Run(ctx context.Context) error {
	finish := b.work.start(ctx, drain)
	b.begin() // from here on it takes what arrives
	// The line to Slack outlives ctx: handlers that finish still have to acknowledge.
	line, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	failed := make(chan error, 1)
	var listening sync.WaitGroup
	listening.Go(func() { failed <- b.listen(line) })
	listening.Go(func() { b.keepHomes(line) })
	if !b.alone {
		listening.Go(func() { b.seekNew(line) })
	}

	var err error
	select {
	case err = <-failed:
	case err = <-b.ended:
	case <-ctx.Done():
	}
	finish()
	hangUp()
	listening.Wait()
	if err != nil {
		return fmt.Errorf("bot: %w", err)
	}
	return nil
}

// listen makes deliveries arrive until ctx ends.
func (b *Bot) listen(ctx context.Context) error {
	if b.mode == ModeSocket {
		return b.socket.run(ctx)
	}
	b.ready.set(true)
	defer b.ready.set(false)
	<-ctx.Done()
	return nil
}
