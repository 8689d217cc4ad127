package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/approvals"
	"countersign/store/boltstore"
)

const (
	benchRequester approvals.UserID = "TBENCH/UREQUESTER"
	benchApprover  approvals.UserID = "TBENCH/UAPPROVER"
)

// fixedPolicy wants one approver, who is named.
type fixedPolicy struct{}

func (fixedPolicy) Requirement(
	context.Context, *approvals.Request, approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return benchRequirement, nil
}

var benchRequirement = approvals.Requirement{
	Policy: "default_policy", Seats: approvals.Quorum(1, approvals.Approvers{Users: []approvals.UserID{benchApprover}}),
	DenyQuorum: 1,
	ExpiresIn:  24 * time.Hour, OnExpiry: approvals.ExpiryReject, ValidFor: time.Hour,
	Always: []approvals.Scope{approvals.ScopeRun},
}

// everybody is a directory of regular people.
type everybody struct{}

func (everybody) Person(_ context.Context, u approvals.UserID, _ time.Time) (approvals.Person, error) {
	return approvals.Person{ID: u, Regular: true}, nil
}
func (everybody) Members(context.Context, approvals.WorkspaceID, string, time.Time) ([]approvals.UserID, error) {
	return nil, nil
}
func (everybody) ChannelMembers(context.Context, approvals.WorkspaceID, string) ([]approvals.UserID, error) {
	return []approvals.UserID{benchRequester, benchApprover}, nil
}
func (everybody) InChannel(
	_ context.Context, _ approvals.WorkspaceID, _ string, u approvals.UserID, _ time.Time,
) (bool, error) {
	return u == benchRequester || u == benchApprover, nil
}
func (everybody) GroupsOf(context.Context, approvals.UserID, time.Time) ([]string, error) {
	return nil, approvals.ErrNotFound
}
func (everybody) Channel(context.Context, approvals.WorkspaceID, string, time.Time) (approvals.Channel, error) {
	return approvals.Channel{}, approvals.ErrNotFound
}

// oneAgent is the only agent there is.
type oneAgent struct{ agent *agent.Agent }

func (o oneAgent) Agent(name string) (approvals.AgentConfig, error) {
	if o.agent == nil || name != o.agent.Name {
		return approvals.AgentConfig{}, approvals.ErrNotFound
	}
	return approvals.AgentConfig{Agent: o.agent}, nil
}

// desk is a surface: it approves every card and tells who waits for an answer.
type desk struct {
	service *approvals.Service
	answers sync.Map // approvals.RunID -> chan struct{}
	posted  atomic.Int64
}

func (d *desk) Notify(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	at := approvals.Delivery{Channel: n.Place.Channel, Message: strconv.FormatInt(d.posted.Add(1), 10)}
	switch n.Kind {
	case approvals.NotifyCard:
		if n.Card.Status != approvals.RequestPending {
			return at, nil
		}
		_, err := d.service.Decide(ctx, approvals.Decision{
			Workspace: n.Workspace, Request: n.Request, By: benchApprover, Verdict: approvals.Approve,
			Digest: n.Card.Digest, Via: "button",
		})
		if errors.Is(err, approvals.ErrConflict) {
			err = nil
		}
		return at, err
	case approvals.NotifyAnswer:
		d.waiter(n.Run) <- struct{}{}
	case approvals.NotifyNotice:
		return at, fmt.Errorf("unexpected notice: %s", n.Text)
	}
	return at, nil
}

func (d *desk) waiter(id approvals.RunID) chan struct{} {
	c, _ := d.answers.LoadOrStore(id, make(chan struct{}, 4))
	return c.(chan struct{})
}

// serviceRig is a service with its store, and a worker where there is a model.
type serviceRig struct {
	store   approvals.Store
	service *approvals.Service
	desk    *desk
	worker  *approvals.Worker
	timers  bool // requests that are seeded have a timer, as those have that expire or are reminded of
}

func newServiceRig(dir string, a *agent.Agent) (*serviceRig, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	st, err := boltstore.Open(filepath.Join(dir, "countersign.db"), boltstore.Config{})
	if err != nil {
		return nil, err
	}
	return rigOn(st, a)
}

// rigOn is a service on a store that is open.
func rigOn(st approvals.Store, a *agent.Agent) (*serviceRig, error) {
	rig, err := &serviceRig{store: st}, error(nil)
	rig.service, err = approvals.NewService(approvals.ServiceConfig{
		Store: st, Policy: fixedPolicy{}, Directory: everybody{}, Agents: oneAgent{a},
		Requesters: approvals.Approvers{ChannelMembers: true},
	})
	if err != nil {
		return nil, err
	}
	rig.desk = &desk{service: rig.service}
	rig.worker, err = approvals.NewWorker(approvals.WorkerConfig{
		Store: st, Policy: fixedPolicy{}, Directory: everybody{}, Agents: oneAgent{a}, Notifier: rig.desk,
	})
	return rig, err
}

func (r *serviceRig) close() { r.store.Close() }

// requesters is how many people have asked for what waits: one person may have fifty requests waiting, unless the
// agents file says otherwise.
const requesters = 200

func requester(i int) approvals.UserID {
	return approvals.NewUserID(benchWorkspace, fmt.Sprintf("%s%03d", benchRequester.Local(), i))
}

// seed puts n runs that wait for one request each, with what it demands, into the store, as a pause leaves them behind.
func (r *serviceRig) seed(ctx context.Context, n int, demand approvals.Requirement) ([]*approvals.Request, error) {
	transfer := agent.Tool{Name: "transfer", Kind: agent.KindHTTP, Description: "Move money between two accounts."}
	arguments := []byte(`{"amount":250,"memo":"invoice 1042","to":"acme"}`)
	digest := transfer.Digest().Call(arguments)
	var all []*approvals.Request
	for start := 0; start < n; start += 500 {
		var page []*approvals.Request
		err := r.store.Update(ctx, func(tx approvals.Tx) error {
			page = page[:0]
			for i := start; i < min(n, start+500); i++ {
				now := time.Now().UTC()
				place := approvals.Place{Surface: "slack", Channel: channelID(i % 100), Thread: strconv.Itoa(i)}
				run := &approvals.Run{
					Workspace: benchWorkspace, ID: approvals.NewRunID(now), Place: place, Agent: "bench",
					Requester: requester(i % requesters), Input: "pay invoice 1042", Status: approvals.RunWaiting,
					Version: 4,
					Epoch:   1, Created: now, Updated: now, Turns: 1, StateItems: 2,
				}
				q := &approvals.Request{
					RequestHead: approvals.RequestHead{
						Workspace: benchWorkspace, ID: approvals.NewRequestID(now), Run: run.ID, Place: place,
						Requester: run.Requester, Kind: agent.Confirm, Interruption: "bench#1#call_1",
						Agent: "bench", Path: []string{"bench"},
						Tool: approvals.ToolSnapshot{
							Name: "transfer", Kind: agent.KindHTTP, Description: transfer.Description,
						},
						Definition: transfer.Digest(), Digest: digest, Requirement: demand,
						Status: approvals.RequestPending, Version: 2,
						Created: now, Expires: now.Add(24 * time.Hour),
						Cards: []approvals.Card{{Channel: place.Channel, Message: "1." + strconv.Itoa(i)}},
					},
					RequestContent: approvals.RequestContent{Arguments: arguments},
				}
				d := agent.Delta{
					Head: []byte(`{"bench":true}`), Count: 2,
					Items: []byte(`[` + strconv.Quote(string(make3k())) + `]`),
				}
				var timer error
				if r.timers {
					q.NextAct = q.Expires
					timer = tx.Enqueue(approvals.Job{Workspace: benchWorkspace, Kind: approvals.JobTimer,
						ID: string(q.ID), Due: q.NextAct, Group: place.Channel})
				}
				err := errors.Join(timer, tx.PutRun(run), tx.PutRequest(q), tx.PutState(benchWorkspace, run.ID, d))
				if err != nil {
					return err
				}
				page = append(page, q)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	return all, nil
}

// make3k is filler for a state of about 3 kB.
func make3k() []byte {
	b := make([]byte, 3000)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

// benchService measures whole runs through Service and Worker: journal, audit, outbox, checkpoints, everything but
// Slack.
func benchService(ctx context.Context, o options) error {
	url, stop, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var all []Figures
	for n := range o.scale(3, 1) {
		f, err := serviceRuns(ctx, url, filepath.Join(o.dir, "service-"+strconv.Itoa(n)), o.scale(2000, 64), 16)
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	printFigures("16 at once", all)
	return nil
}

func serviceRuns(ctx context.Context, url, dir string, total, width int) (Figures, error) {
	var effects atomic.Int64
	a, err := benchAgent(url, openaimodel.Responses, &effects)
	if err != nil {
		return Figures{}, err
	}
	a.Tools[0].NeedsApproval = agent.AlwaysAsk
	rig, err := newServiceRig(dir, a)
	if err != nil {
		return Figures{}, err
	}
	return rig.runs(ctx, total, width, &effects)
}

// runs has the service and its worker carry out whole runs, of which each has the effect once.
func (r *serviceRig) runs(ctx context.Context, total, width int, effects *atomic.Int64) (Figures, error) {
	rig := r
	defer rig.close()
	working, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { rig.worker.Run(working) })
	defer wg.Wait()
	defer stop()
	var next atomic.Int64
	f, err := measure(ctx, "service and worker", total, width, func(ctx context.Context, _ int) error {
		i := strconv.FormatInt(next.Add(1), 10)
		receipt, err := rig.service.Submit(ctx, approvals.Submission{
			Workspace: benchWorkspace, Keys: []string{"event " + i}, Requester: benchRequester, Agent: "bench",
			Text: "transfer 250 to acme", Message: i,
			Place: approvals.Place{Surface: "slack", Channel: "C1", Thread: i},
		})
		if err != nil {
			return err
		}
		select {
		case <-rig.desk.waiter(receipt.Run):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err == nil && effects.Load() != next.Load() {
		err = fmt.Errorf("%d effects of %d runs", effects.Load(), next.Load())
	}
	return f, err
}
