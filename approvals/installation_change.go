package approvals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"
)

// Installations keeps where the app is installed. What its methods return without error is committed. The zero value is
// not usable: see NewInstallations.
type Installations struct {
	store Store
	log   *slog.Logger
}

// NewInstallations returns the installations of the store. Logger may be nil.
func NewInstallations(st Store, log *slog.Logger) *Installations {
	return &Installations{store: st, log: logger(log)}
}

// All lists the installations, also those that have ended, by workspace.
func (s *Installations) All(ctx context.Context) (all []*Installation, err error) {
	err = s.store.View(ctx, func(tx Tx) error {
		all = nil
		var after WorkspaceID
		for {
			page, err := tx.Installations(after, maxPage)
			if err != nil || len(page) == 0 {
				return err
			}
			all, after = append(all, page...), page[len(page)-1].Workspace
		}
	})
	if err != nil {
		return nil, fmt.Errorf("installations: %w", err)
	}
	return all, nil
}

// Of returns the installation of the workspace, or ErrNotFound.
func (s *Installations) Of(ctx context.Context, ws WorkspaceID) (i *Installation, err error) {
	err = s.store.View(ctx, func(tx Tx) (err error) {
		i, err = tx.Installation(ws)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("installation in %s: %w", ws, err)
	}
	return i, nil
}

// Install records that the app was installed, and returns the record. An installation of the same workspace is
// replaced. What could not be delivered there since the one before had ended goes back into the outbox. ErrInvalid says
// what is missing, and never the token; ErrConflict that the proof was used before.
func (s *Installations) Install(ctx context.Context, in Installation) (*Installation, error) {
	in.Workspace = InstalledIn(in.Enterprise, in.Team)
	if err := in.check(); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	in.Ended, in.Why = noTime, ""
	err := update(ctx, s.store, in.Workspace, func(c *txn) error {
		if err := c.proven(in.Proof); err != nil {
			return err
		}
		before, err := c.Installation(c.ws)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		in.Installed = c.Now()
		if err := c.PutInstallation(&in); err != nil {
			return err
		}
		data := auditData{}
		if before != nil {
			data.Why = "again"
		}
		if before != nil && !before.Live() {
			if err := c.reviveSince(before.Ended); err != nil {
				return err
			}
		}
		return c.audit(entry{Action: AuditInstalled, Actor: in.installer(), Data: data})
	})
	if err != nil {
		return nil, fmt.Errorf("install in %s: %w", in.Workspace, err)
	}
	return &in, nil
}

// proven uses a proof up.
func (c *txn) proven(proof string) error {
	if proof == "" {
		return nil
	}
	free, err := c.Once(c.ws, "install "+proof, c.Now())
	if err == nil && !free && !c.again { // else it was this very transaction that was committed
		err = fmt.Errorf("%w: the proof was used before", ErrConflict)
	}
	return err
}

func (i *Installation) check() error {
	for name, missing := range map[string]bool{
		"a workspace": i.Workspace == "", "a token": i.Token == "", "a bot user": i.BotUser == "",
	} {
		if missing {
			return fmt.Errorf("%w: installation without %s", ErrInvalid, name)
		}
	}
	if !utf8.ValidString(i.Name) || utf8.RuneCountInString(i.Name) > maxInstallationName {
		return fmt.Errorf("%w: the name of the workspace is unusable", ErrInvalid)
	}
	return nil
}

// maxInstallationName bounds the name of a workspace, in characters.
const maxInstallationName = 255

func (i *Installation) installer() string {
	if i.By == "" {
		return system
	}
	return string(i.By)
}

// reviveSince puts back into the outbox what was given up at or after the instant.
func (c *txn) reviveSince(ended time.Time) error {
	var after NotificationID
	for {
		page, err := c.DeadLetters(c.ws, after, maxPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, n := range page {
			after = n.ID
			if n.Dead.Before(ended) {
				continue
			}
			if err := c.revive(n); err != nil {
				return err
			}
		}
	}
}

// End records that the app is not installed in the workspace any more, why in a word of the surface, and forgets its
// token, which is of no use any more. Its runs are for Stop to end. An installation that is not there or has ended
// stays as it is, and so does one with another token, with ErrConflict: the app was installed again.
func (s *Installations) End(ctx context.Context, ws WorkspaceID, token BotToken, why string) error {
	err := update(ctx, s.store, ws, func(c *txn) error {
		i, err := c.Installation(c.ws)
		if errors.Is(err, ErrNotFound) || err == nil && !i.Live() {
			return nil
		}
		if err != nil {
			return err
		}
		if i.Token != token {
			return fmt.Errorf("the app was installed again: %w", ErrConflict)
		}
		i.Ended, i.Why, i.Token = c.Now(), shortened(why, maxWhy), ""
		if err := c.PutInstallation(i); err != nil {
			return err
		}
		return c.audit(entry{Action: AuditUninstalled, Actor: system, Data: auditData{Why: i.Why}})
	})
	if err != nil {
		return fmt.Errorf("end the installation in %s: %w", ws, err)
	}
	return nil
}

// removedText is what the people of a place read, once the app is installed again, of a run that Stop has ended.
const removedText = wordsAppRemoved

// Stop ends the runs of a workspace in which the app is not installed: nothing is done in its name that nobody there
// can see or stop. It returns how many it has ended. It does nothing where the app is installed.
func (s *Installations) Stop(ctx context.Context, ws WorkspaceID) (stopped int, err error) {
	gone := func(c *txn, _ *Run) error {
		if i, err := c.Installation(c.ws); err != nil {
			return err
		} else if i.Live() {
			return errInstalled
		}
		return nil
	}
	for {
		open, err := s.open(ctx, ws)
		if err != nil || len(open) == 0 {
			return stopped, err
		}
		for _, id := range open {
			e := ending{to: RunCancelled, text: removedText, data: auditData{Why: "uninstalled"}}
			_, err := endRun(ctx, s.store, RunKey{Workspace: ws, Run: id}, e, gone)
			switch {
			case errors.Is(err, errInstalled):
				return stopped, nil
			case errors.Is(err, ErrEnded), errors.Is(err, ErrNotFound):
			case err != nil:
				return stopped, fmt.Errorf("stop the runs of %s: %w", ws, err)
			default:
				stopped++
			}
		}
	}
}

var errInstalled = errors.New("the app is installed again")

// open lists runs of the workspace that have not ended.
func (s *Installations) open(ctx context.Context, ws WorkspaceID) (ids []RunID, err error) {
	err = s.store.View(ctx, func(tx Tx) error {
		ids = nil
		for _, status := range []RunStatus{RunQueued, RunRunning, RunWaiting} {
			for q := (RunQuery{Workspace: ws, Status: status, Limit: maxPage}); ; {
				page, next, err := tx.QueryRuns(q)
				if err != nil {
					return err
				}
				for _, r := range page {
					ids = append(ids, r.ID)
				}
				if next == "" {
					break
				}
				q.After = next
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("runs of %s: %w", ws, err)
	}
	return ids, nil
}
