package agentsfile

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"countersign/agent/guardrail"
)

const secret = "canary-secret-value"

func env(name string) (string, bool) {
	switch name {
	case "TOKEN":
		return secret, true
	case "HOST":
		return "payments.example", true
	case "EMPTY":
		return "", true
	}
	return "", false
}

func parse(t *testing.T, text string) (*File, error) {
	t.Helper()
	f, err := Parse("agents.yaml", []byte(text), env)
	if err == nil && f == nil {
		t.Fatal("neither a file nor an error")
	}
	return f, err
}

// TestParse reads a file that uses every key.
func TestParse(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse(t, string(data))
	if err != nil {
		t.Fatal(err)
	}
	temperature, no := 0.5, false
	ops := f.Agent("ops")
	if ops == nil || len(ops.Tools) != 10 {
		t.Fatalf("agent ops: %+v", ops)
	}
	if got := ops.Settings; *got.Temperature != temperature || got.ReasoningEffort != "low" ||
		*got.ParallelToolCalls || got.MaxOutputTokens != 4096 {
		t.Errorf("settings: %+v", got)
	}
	own := []*Guardrail{{
		Name: "no_secrets", When: `text.contains("BEGIN PRIVATE KEY")`,
		Verdict: guardrail.Verdict{Action: guardrail.Trip, Message: "Secrets do not belong here."},
	}}
	if diff := cmp.Diff(own, ops.Guardrails, cmpopts.IgnoreUnexported(Guardrail{}),
		cmpopts.IgnoreTypes(Position{})); diff != "" {
		t.Error(diff)
	}
	if ops.Settings.ToolChoice != "transfer_funds" || !ops.KeepToolChoice || !ops.StopOnFirstTool {
		t.Errorf("use of tools: %+v", ops)
	}
	transfer := ops.Tools[1]
	want := &Tool{
		Type: HTTP, Name: "transfer_funds", Version: "2", Description: "Move money between two accounts.",
		Gate:       Gate{Ask: AskIf, Expression: "args.amount > 100"},
		Idempotent: &no, Timeout: 10 * time.Second, Method: "POST",
		Parameters: json.RawMessage(`{"type":"object","required":["amount","to"],` +
			`"properties":{"amount":{"type":"number","minimum":0.01},"to":{"type":"string"}}}`),
		Guardrails: []*Guardrail{{
			Name: "ceiling", When: "args.amount > 10000", BeforeApproval: true,
			Verdict: guardrail.Verdict{Action: guardrail.Replace, Message: "Too much."},
		}, {
			Name: "unusual", When: `args.to == "x"`, Verdict: guardrail.Verdict{Action: guardrail.AskAgain},
		}, {
			Name: "numbers", Output: true, When: `text.matches("[0-9]{16}")`,
			Verdict: guardrail.Verdict{Action: guardrail.Trip},
		}},
		URL:     Text{Written: "https://${HOST}/transfer", Value: "https://payments.example/transfer"},
		Headers: []Header{{"Authorization", Text{Written: "Bearer ${TOKEN}", Value: "Bearer " + secret}}},
	}
	diff := cmp.Diff(want, transfer, cmpopts.IgnoreUnexported(Gate{}), cmpopts.IgnoreTypes(Position{}),
		cmpopts.IgnoreFields(Tool{}, "AllowAddresses"), cmpopts.IgnoreUnexported(Guardrail{}))
	if diff != "" {
		t.Error(diff)
	}
	if len(transfer.AllowAddresses) != 1 || transfer.AllowAddresses[0].String() != "10.0.0.0/8" {
		t.Errorf("addresses: %v", transfer.AllowAddresses)
	}
	policy := &Policy{
		Name:      "default_policy",
		Approvers: People{Users: []string{"U111", "U222"}, Groups: []string{"S222"}}, Quorum: 2, DenyQuorum: 1,
		SelfApproval: true, ExpiresIn: 36 * time.Hour, OnExpiry: "cancel", ValidFor: 30 * time.Minute,
		AlwaysScopes: []string{}, MaxTTL: 24 * time.Hour, Notify: Notify{Named: "auto"},
	}
	if diff := cmp.Diff(policy, f.DefaultPolicy, asWritten()...); diff != "" {
		t.Error(diff)
	}
	if f.AgentFor("C0123456789") != "billing" || f.AgentFor("C9") != "ops" {
		t.Error("channels do not choose the agent")
	}
}

// asWritten compares what a file says and not where.
func asWritten() []cmp.Option {
	return []cmp.Option{cmpopts.IgnoreTypes(Position{}), cmpopts.IgnoreUnexported(Expression{})}
}

// TestParsePolicies reads the policies and the variables of a file that uses every key.
func TestParsePolicies(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse(t, string(data))
	if err != nil {
		t.Fatal(err)
	}
	vars := []Var{
		{Name: "environment", Value: Text{Written: "${HOST}", Value: "payments.example"}},
		{Name: "limit", Value: int64(1000)}, {Name: "share", Value: 0.5}, {Name: "careful", Value: true},
	}
	if diff := cmp.Diff(vars, f.Vars, asWritten()...); diff != "" {
		t.Error(diff)
	}
	delegates := []Delegate{
		{From: "U111", To: "U444", Until: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)},
		{From: "U222", To: "U444", Until: time.Date(2027, 1, 15, 0, 0, 0, 0, time.UTC)},
	}
	if diff := cmp.Diff(delegates, f.Delegates, asWritten()...); diff != "" {
		t.Error(diff)
	}
	if ends := f.Delegates[0].Ends(); !ends.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the last day ends at %s", ends)
	}
	emergency := &BreakGlass{Users: []string{"U999"}, Groups: []string{"S9"}, Notify: "C0SECURITY"}
	if diff := cmp.Diff(emergency, f.BreakGlass); diff != "" {
		t.Error(diff)
	}
	policies := []*Policy{
		{
			Name: "money", When: Expression{Source: `tool == "transfer_funds" && args.amount > vars.limit`},
			Approvers: People{Groups: []string{"S333"}, ChannelMembers: true}, Quorum: 3, DenyQuorum: 2,
			SelfApproval: true, ExpiresIn: 2 * time.Hour, OnExpiry: "keep", ValidFor: 10 * time.Minute,
			AlwaysScopes: []string{"run", "thread", "channel", "workspace"}, MaxTTL: 12 * time.Hour,
			RemindEvery: 15 * time.Minute, Notify: Notify{Named: "dm", Channel: "C0APPROVALS"},
			Escalate: &Escalate{
				After: 30 * time.Minute,
				To:    People{Users: []string{"U7"}, Groups: []string{"S7"}, ChannelMembers: true},
			},
		},
		{
			Name: "both", When: Expression{Source: `agent == "ops"`},
			AllOf: []People{{Groups: []string{"S1"}}, {Users: []string{"U5"}}}, Quorum: 1, DenyQuorum: 1,
			ExpiresIn: 24 * time.Hour, OnExpiry: "reject", ValidFor: time.Hour,
			AlwaysScopes: []string{"run"}, MaxTTL: 24 * time.Hour, Notify: Notify{Named: "auto"},
		},
		{
			Name: "rest", When: Expression{Source: "true"}, Approvers: People{Users: []string{"U6"}},
			Quorum: 1, DenyQuorum: 1, ExpiresIn: 24 * time.Hour, OnExpiry: "reject", ValidFor: time.Hour,
			AlwaysScopes: []string{"run"}, MaxTTL: 24 * time.Hour, Notify: Notify{Named: "auto"},
		},
	}
	if diff := cmp.Diff(policies, f.Policies, asWritten()...); diff != "" {
		t.Error(diff)
	}
}

// TestDefaults shows that what is left out is the strict thing.
func TestDefaults(t *testing.T) {
	t.Parallel()
	f, err := parse(t, `
version: 1
agents:
  ops: { instructions: Help., model: gpt-5.2 }
default_policy: { approvers: { channel_members: true } }
`)
	if err != nil {
		t.Fatal(err)
	}
	if f.DefaultAgent != "ops" || !f.Requesters.ChannelMembers || f.Limits != (Limits{5, 20, 50}) {
		t.Errorf("file: %+v", f)
	}
	if a := f.Agents[0]; a.MaxTurns != 20 || a.HistoryTokens != 100_000 {
		t.Errorf("agent: %+v", a)
	}
	want := &Policy{
		Name:      "default_policy",
		Approvers: People{ChannelMembers: true}, Quorum: 1, DenyQuorum: 1, ExpiresIn: 24 * time.Hour,
		OnExpiry: "reject", ValidFor: time.Hour, AlwaysScopes: []string{"run"}, MaxTTL: 24 * time.Hour,
		Notify: Notify{Named: "auto"},
	}
	if diff := cmp.Diff(want, f.DefaultPolicy, asWritten()...); diff != "" {
		t.Error(diff)
	}
}

// TestRead covers the file system's part.
func TestRead(t *testing.T) {
	t.Parallel()
	if _, err := Read(t.TempDir()+"/absent.yaml", env); err == nil || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("absent file: %v", err)
	}
	if _, err := Read(t.TempDir(), env); err == nil {
		t.Error("a folder was read")
	}
}
