package app_test

import (
	"strings"

	"countersign/internal/openaidev"
)

// forbiddenYAML is a tool that nobody may approve: its policy names the person alone who asks for it.
const forbiddenYAML = `      - type: http
        name: wire
        description: Wires all there is.
        parameters: { type: object, properties: { amount: { type: number } } }
        method: POST
        url: ${EFFECTS_URL}/wire
        needs_approval: true
`

// hazards are what the invariants say must not happen: the model pays with a secret memo, and whenever it pays it also
// calls a tool that no policy allows. It returns the agents file.
func (w *world) hazards(s *settings) (agents string) {
	w.hidden, w.forbidden = []string{secretMemo}, []string{"wire"}
	s.policy = `policies: [{ name: nobody, when: 'tool == "wire"', approvers: { users: [` + ann + "] } }]\n" + s.policy
	calls := []openaidev.Call{
		{Name: "wire", Arguments: `{"amount":$1}`},
		{Name: "pay", Arguments: `{"amount":$1,"to":"acct","memo":"` + secretMemo + `"}`},
	}
	s.rules = append(s.rules, openaidev.Rule{User: `pay (\d+)`, Round: 0, Reply: openaidev.Reply{Calls: calls}})
	return strings.NewReplacer("to: { type: string } }", "to: { type: string }, memo: { type: string } }",
		"        needs_approval: args", "        secret: [memo]\n        needs_approval: args",
		"      - { type: function", forbiddenYAML+"      - { type: function").Replace(agentsYAML)
}
