package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/approvals"
)

// batchDecider decides the first request of a batch, and refuses the others.
type batchDecider struct {
	batches []approvals.Batch
	err     error // of the batches behind the first
}

func (d *batchDecider) Decide(context.Context, approvals.Decision) (*approvals.Request, error) {
	return nil, errors.New("not one by one")
}

func (d *batchDecider) IssueCallback(
	context.Context, approvals.CallbackIssue,
) (approvals.CallbackAddress, error) {
	return approvals.CallbackAddress{}, errors.New("no callbacks here")
}

func (d *batchDecider) Reveal(context.Context, approvals.RevealIn) (*approvals.Request, error) {
	return nil, approvals.ErrInvalid
}

func (d *batchDecider) Review(
	context.Context, approvals.WorkspaceID, approvals.RequestID, approvals.Review,
) (*approvals.Request, error) {
	return nil, errors.New("no reviews here")
}

func (d *batchDecider) DecideAll(_ context.Context, b approvals.Batch) (all []approvals.BatchAnswer, err error) {
	d.batches = append(d.batches, b)
	if len(d.batches) > 1 && d.err != nil {
		return nil, d.err
	}
	for i, item := range b.Requests {
		a := approvals.BatchAnswer{
			ID: item.Request, Request: newRequest(string(item.Request), stands(approvals.RequestApproved, "")),
		}
		if i > 0 {
			a.Err = fmt.Errorf("decide request %s: %w, %w: why", item.Request, approvals.ErrInvalid,
				approvals.ErrNotBatched)
		}
		all = append(all, a)
	}
	return all, nil
}

// TestDecideSeveral says of each request what became of it, and fails when one was not decided.
func TestDecideSeveral(t *testing.T) {
	t.Parallel()
	desk := newDesk(t, newRequest("req_1"), newRequest("req_2"))
	d := &batchDecider{}
	desk.Decider = d
	p, out, complaints := capture()
	c := &decideCommand{As: "U2", Reason: "fine"}
	if err := c.setIDs(nil, []string{"req_1", "req_2", "req_1", "req_3"}); err != nil {
		t.Fatal(err)
	}
	err := c.decideAll(t.Context(), &p, desk, approvals.Approve)
	if !errors.Is(err, errSilent) {
		t.Errorf("error %v", err)
	}
	if len(d.batches) != 1 || d.batches[0].By != "T1/U2" || len(d.batches[0].Requests) != 2 ||
		d.batches[0].Reason != "fine" || d.batches[0].Via != "cli" {
		t.Errorf("batches %+v", d.batches)
	}
	if !strings.HasPrefix(out.String(), "req_1 is approved.") || strings.Contains(out.String(), "req_2") {
		t.Errorf("printed %q", out)
	}
	for _, want := range []string{"req_3: not found", "req_2: invalid, not answered together with others: why",
		"2 of 3 not decided"} {
		if !strings.Contains(complaints.String(), want) {
			t.Errorf("complained %q, want %q", complaints, want)
		}
	}
}

// TestDecideSeveralCutOff: what was refused before the bot was lost is said all the same.
func TestDecideSeveralCutOff(t *testing.T) {
	t.Parallel()
	elsewhere := newRequest("req_4", func(r *approvals.Request) { r.Workspace = "T2" })
	desk := newDesk(t, newRequest("req_1"), newRequest("req_2"), elsewhere)
	err := desk.Store.Update(t.Context(), func(tx approvals.Tx) error {
		return tx.AppendAudit(&approvals.AuditEntry{Workspace: "T2", Seq: 1, At: tx.Now()})
	})
	if err != nil {
		t.Fatal(err)
	}
	lost := errors.New("the bot has gone")
	desk.Decider = &batchDecider{err: lost}
	p, _, complaints := capture()
	c := &decideCommand{As: "U2"}
	if err := c.setIDs(nil, []string{"req_1", "req_2", "req_3", "req_4"}); err != nil {
		t.Fatal(err)
	}
	if err := c.decideAll(t.Context(), &p, desk, approvals.Approve); !errors.Is(err, lost) {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"req_3: not found", "req_2: invalid"} {
		if !strings.Contains(complaints.String(), want) {
			t.Errorf("complained %q, want %q", complaints, want)
		}
	}
}

// TestDecideSeveralMisused refuses what only one request can be answered with.
func TestDecideSeveralMisused(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{
		"--always-approve", "--approve --always", "--retry", "--provide-result --reason done", "--mark-done --reason x",
		"--approve --digest 0123456789abcdef", "--approve --for U3", "--edit {}",
	} {
		args := append([]string{"approvals", "decide", "req_1", "req_2", "--as", "U2"}, strings.Fields(flags)...)
		p, _, complaints := capture(args...)
		if code := Main(t.Context(), p); code != exitUsage || !strings.Contains(complaints.String(), "several") {
			t.Errorf("%s: exit code %d, %s", flags, code, complaints)
		}
	}
}
