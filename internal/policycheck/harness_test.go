package policycheck

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
)

// agentsYAML is the agents file of the tests: %s is the gate of pay, and %s are policies.
const agentsYAML = `version: 1
default_agent: ops
vars: { limit: 1000, zone: eu }
agents:
  ops:
    instructions: You pay.
    model: m
    tools:
      - type: http
        name: pay
        description: Pays.
        parameters:
          type: object
          required: [amount, to]
          additionalProperties: false
          properties: { amount: { type: number }, to: { type: string }, memo: { type: string }, day: { type: integer } }
        method: POST
        url: http://127.0.0.1:9000/pay
        headers: { Authorization: "Bearer ${TOKEN}" }
        needs_approval: %s
      - { type: http, name: noted, description: Notes., parameters: { type: object, properties: {} }, method: POST,
          url: "http://127.0.0.1:9000/note", approval: audit }
      - { type: http, name: look, description: Looks., parameters: { type: object, properties: {} }, method: GET,
          url: "http://127.0.0.1:9000/look" }
      - { type: mcp, server: library }
mcp_servers: { library: { command: [library] } }
%s`

const policies = `policies:
  - { name: large, when: 'tool == "pay" && args.amount > vars.limit', approvers: { groups: [S1] }, quorum: 2 }
  - { name: alone, when: 'tool == "pay" && args.to == "self"', approvers: { users: [U0ANN] } }
default_policy: { approvers: { channel_members: true }, self_approval: true }
`

func environment(string) (string, bool) { return "set", true }

func parse(t *testing.T, text string) *agentsfile.File {
	t.Helper()
	f, err := agentsfile.Parse("agents.yaml", []byte(text), environment)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func build(f *agentsfile.File) (*catalog.Catalog, error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	return catalog.Build(f, catalog.Config{Model: catalog.NoModel, Servers: catalog.NewServers("test", log)})
}

// catalogWith builds the agents file with the gate and the policies.
func catalogWith(t *testing.T, gate, policies string) *catalog.Catalog {
	t.Helper()
	c, err := build(parse(t, fmt.Sprintf(agentsYAML, gate, policies)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const team approvals.WorkspaceID = "T1"

var monday = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// recorded returns the nth request of the tests: one a day for somebody in channel C1, approved by U0BEN.
func recorded(n int, arguments string, change ...func(*approvals.Request)) *approvals.Request {
	at := monday.AddDate(0, 0, n)
	r := &approvals.Request{
		RequestHead: approvals.RequestHead{
			Workspace: team, ID: approvals.RequestID(fmt.Sprintf("req_%03d", n)), Kind: agent.Confirm, Agent: "ops",
			Interruption: "1/call_1", Requester: approvals.NewUserID(team, "U0ANN"), Created: at,
			Place: approvals.Place{Surface: "slack", Channel: "C1"}, Status: approvals.RequestApproved,
			Tool: approvals.ToolSnapshot{Name: "pay", Kind: agent.KindHTTP},
			Requirement: approvals.Requirement{
				Policy: "default_policy", Seats: approvals.Quorum(1, approvals.Approvers{ChannelMembers: true}),
				DenyQuorum: 1, SelfApproval: true, ExpiresIn: 24 * time.Hour, OnExpiry: approvals.ExpiryReject,
				ValidFor: time.Hour, Always: []approvals.Scope{approvals.ScopeRun},
			},
			Decisions: []approvals.Decision{{
				By: approvals.NewUserID(team, "U0BEN"), Verdict: approvals.Approve, At: at,
			}},
		},
		RequestContent: approvals.RequestContent{Arguments: []byte(arguments)},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

// untold is what is known where nobody can say.
var untold = approvals.Untold(allFacts)
