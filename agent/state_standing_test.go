package agent_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestStandingAnswers says the same of an answer with Always as Answers does, and which definition it holds for. Either
// takes it back.
func TestStandingAnswers(t *testing.T) {
	t.Parallel()
	a := payer(scripted.Calls(scripted.Call("call_1", "pay", `{"amount":1,"to":"Ada"}`)))
	var r agent.Runner
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	must(t, err)
	always := func() (said, stands agent.Answer) {
		must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{Always: true}))
		return res.State.Answers()[0], res.State.StandingAnswers()[0]
	}
	said, stands := always()
	want := agent.Answer{
		Question: said.Question, Kind: agent.Confirm, Agent: "payer", Tool: "pay", Definition: a.Tools[0].Digest(),
		Approved: true, Always: true,
	}
	if diff := gocmp.Diff(want, stands); diff != "" {
		t.Error(diff)
	}
	want.Definition, want.Open, want.CallID, want.Arguments = agent.Digest{}, true, "call_1", said.Arguments
	if diff := gocmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	other, changed := said, stands
	other.Tool, changed.Definition = "look", agent.Digest{1}
	for _, a := range []agent.Answer{other, changed} {
		if res.State.Revoke(a) || len(res.State.StandingAnswers()) != 1 {
			t.Errorf("%+v was revoked", a)
		}
	}
	for _, a := range []agent.Answer{said, stands} {
		always()
		if !res.State.Revoke(a) || len(res.State.StandingAnswers()) != 0 {
			t.Errorf("%+v was not revoked", a)
		}
	}
}
