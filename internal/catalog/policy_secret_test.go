package catalog

import (
	"strings"
	"testing"

	"countersign/approvals"
	"countersign/approvals/celpolicy"
)

// TestSecretVarsAreNotRecorded: a variable that is made of a secret of the environment is compared with, and counts in
// the policy's hash, and what is recorded for people has the text of the file. One of another kind is recorded.
func TestSecretVarsAreNotRecorded(t *testing.T) {
	t.Parallel()
	c, err := buildCatalog(t, strings.Replace(payments, `place: "${TOKEN}"`, `place: "${TOKEN}", base: "${URL}"`, 1)+
		`policies:
  - { name: money, when: 'vars.place == "`+canary+`" && vars.base != "" && vars.limit > 5', approvers: { users: [U1] } }
`+policy)
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.Requirement(t.Context(), ask(`{"amount":1}`), approvals.PolicyFacts{})
	if err != nil || q.Policy != "money" {
		t.Fatalf("%+v, %v", q, err)
	}
	want := map[string]string{"place": `"${TOKEN}"`, "base": `"https://host.example/` + canary + `"`, "limit": "1000"}
	if len(q.Vars) != len(want) {
		t.Errorf("%+v", q.Vars)
	}
	for _, v := range q.Vars {
		if v.Value != want[v.Name] {
			t.Errorf("vars.%s is recorded as %s, want %s", v.Name, v.Value, want[v.Name])
		}
	}
	hashes := map[bool]string{}
	for _, hidden := range []bool{false, true} {
		when, err := celpolicy.CompileCondition(`vars.place == "here"`, celpolicy.Vars{"place": "here"})
		if err != nil {
			t.Fatal(err)
		}
		if hidden {
			when.Hide("place", "${TOKEN}")
		}
		then := &celpolicy.Static{Name: "money", Users: []string{"U1"}, Quorum: 1, DenyQuorum: 1}
		rules := &celpolicy.Rules{Rules: []celpolicy.Rule{{When: when, Then: then}}, Default: celpolicy.None{}}
		q, err := rules.Requirement(t.Context(), ask(`{}`), approvals.PolicyFacts{})
		if err != nil {
			t.Fatal(err)
		}
		hashes[hidden] = string(q.Hash[:])
	}
	if hashes[true] != hashes[false] {
		t.Error("the hash goes by what is shown, not by the value")
	}
}
