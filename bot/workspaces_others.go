package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

const (
	// othersEvery is how often it is read where the app is installed: another process may have recorded a change.
	othersEvery = 15 * time.Second
	// othersTime bounds such a reading while Slack waits for an answer.
	othersTime = time.Second
)

// errNewer says that a token is of no use any more because another process has recorded a newer one.
var errNewer = errors.New("the app was installed again meanwhile")

// follow takes over what other processes record, until ctx ends.
func (w *Workspaces) follow(ctx context.Context) {
	for sleep(ctx, othersEvery) {
		all, err := w.cfg.Installations.All(ctx)
		for _, i := range all {
			err = errors.Join(err, w.agreeOn(i.Workspace, i))
		}
		if err != nil && ctx.Err() == nil {
			w.log.Warn("where the app is installed could not be read", "error", err)
		}
	}
}

// known returns the bot of the workspace, also when another process has only just recorded that the app is installed
// there. nil: it is not, or that cannot be found out.
func (w *Workspaces) known(ctx context.Context, ws approvals.WorkspaceID) *resident {
	r := w.resident(ws)
	if r != nil || w.cfg.Alone || ws == "" {
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, othersTime)
	defer cancel()
	i, err := w.cfg.Installations.Of(ctx, ws)
	if err == nil {
		err = w.agreeOn(ws, i)
	}
	if err != nil && !errors.Is(err, approvals.ErrNotFound) {
		w.log.Warn("whether the app is installed could not be read", "workspace", ws, "error", err)
	}
	return w.resident(ws)
}

// learnt is known for what Slack hands over.
func (w *Workspaces) learnt(ws approvals.WorkspaceID) *resident {
	w.mu.Lock()
	ctx := w.ctx
	w.mu.Unlock()
	if ctx == nil {
		return nil
	}
	return w.known(ctx, ws)
}

// agreeOn has the bot of the workspace be the one of the record, if that is another one or has ended.
func (w *Workspaces) agreeOn(ws approvals.WorkspaceID, i *approvals.Installation) error {
	w.changing.Lock()
	defer w.changing.Unlock()
	return w.agree(ws, i)
}

// agree is agreeOn for who holds w.changing.
func (w *Workspaces) agree(ws approvals.WorkspaceID, i *approvals.Installation) error {
	before := w.resident(ws)
	switch {
	case !i.Live() && before == nil, i.Live() && before.has(i):
		return nil
	case !i.Live():
		if i.Ended.Before(before.since) {
			return nil // it was read before the app was installed again here
		}
		w.leave(ws, Absence{ws, i.Ended, i.Why})
		before.retire()
		return nil
	case before != nil && i.Installed.Before(before.since):
		return nil
	}
	c, err := w.cfg.Clients.make(i)
	if err != nil {
		return err
	}
	r, err := w.bot(i, c)
	if err != nil {
		return err
	}
	w.replace(ws, r)
	w.mu.Lock()
	delete(w.gone, ws)
	w.mu.Unlock()
	before.retire()
	w.log.Info("the app was installed at another process", "workspace", ws)
	return nil
}

// has reports whether the bot works with the token of the record.
func (r *resident) has(i *approvals.Installation) bool { return r != nil && r.token == i.Token }

// leave has no bot in the workspace any more, and lets its runs stop.
func (w *Workspaces) leave(ws approvals.WorkspaceID, a Absence) {
	w.replace(ws, nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[ws] = a
	if running := w.ctx; running != nil {
		w.running.Go(func() { w.stop(running, ws) })
	}
}

// newest returns errNewer when the record has another token than the bot, which then gives way to one that has it.
// w.changing is held.
func (w *Workspaces) newest(ctx context.Context, ws approvals.WorkspaceID, r *resident) error {
	i, err := w.cfg.Installations.Of(ctx, ws)
	if errors.Is(err, approvals.ErrNotFound) || err == nil && (!i.Live() || r.has(i)) {
		return nil
	}
	if err == nil {
		err = w.agree(ws, i)
	}
	if err == nil {
		err = errNewer
	}
	return fmt.Errorf("the token of %s: %w", ws, err)
}
