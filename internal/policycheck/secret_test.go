package policycheck

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/approvals"
)

// TestSecretsAreNotSuggested: no suggestion holds a secret value, however often it was approved.
func TestSecretsAreNotSuggested(t *testing.T) {
	t.Parallel()
	for _, secret := range [][]string{nil, {"memo"}} {
		var all []*approvals.Request
		for i := range 30 {
			all = append(all, recorded(i, fmt.Sprintf(`{"amount":%d,"memo":"canary","to":"acme"}`, i%3+1),
				func(r *approvals.Request) { r.Secret = secret }))
		}
		found, err := json.Marshal(suggest(t, "true", all...))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(found), "canary") != (secret == nil) {
			t.Errorf("secret %v: %s", secret, found)
		}
	}
}

// TestSecretsAreNotQuoted: why a recorded call does not fit the agents file may quote its arguments, unless some are
// secret.
func TestSecretsAreNotQuoted(t *testing.T) {
	t.Parallel()
	for _, secret := range [][]string{nil, {"memo"}} {
		r := recorded(1, `{"amount":1,"memo":"canary","to":"acme"}`)
		r.Secret = secret
		told := sayable(r, fmt.Errorf("memo: %q is no number", "canary"))
		if strings.Contains(told, "canary") != (secret == nil) {
			t.Errorf("secret %v: %s", secret, told)
		}
	}
}
