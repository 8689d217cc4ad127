package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
	"countersign/internal/control"
	"countersign/internal/policycheck"
)

// Trials hold recorded requests against agents files that are tried out. The last file is kept ready: a command asks
// about one request after the other.
type Trials struct {
	Functions []agent.Tool
	Logger    *slog.Logger

	mu   sync.Mutex
	last control.Trial // without a request
	made *catalog.Catalog
}

// Judge says what the agents file makes of the request. Nothing of the file is run, and no server of it is contacted.
func (t *Trials) Judge(
	ctx context.Context, trial control.Trial, r *approvals.Request,
) (control.Judgement, error) {
	made, err := t.catalog(trial)
	if err != nil {
		return control.Judgement{}, fmt.Errorf("%w: %w", approvals.ErrInvalid, err)
	}
	v, err := policycheck.Judge(ctx, made, r)
	return control.Judgement{Fate: string(v.Fate), Requirement: v.Requirement, Why: v.Why}, err
}

func (t *Trials) catalog(trial control.Trial) (*catalog.Catalog, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made != nil && t.last.Name == trial.Name && t.last.Text == trial.Text &&
		maps.Equal(t.last.Environment, trial.Environment) {
		return t.made, nil
	}
	file, err := agentsfile.Parse(trial.Name, []byte(trial.Text), func(name string) (string, bool) {
		value, ok := trial.Environment[name]
		return value, ok
	})
	if err != nil {
		return nil, err
	}
	servers := catalog.NewServers(BuildVersion().Version, t.Logger)
	made, err := catalog.Build(file, catalog.Config{Functions: t.Functions, Model: catalog.NoModel, Servers: servers})
	if err != nil {
		return nil, err
	}
	trial.Request = ""
	t.last, t.made = trial, made
	return made, nil
}
