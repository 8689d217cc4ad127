package bot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// scopeBlock is the block of the scope chooser, whose options' values are the words of the scopes.
const scopeBlock = "scope"

// mostCovered is how many waiting calls the form names.
const mostCovered = 10

// alwaysScopes lists how far a standing answer to the request may reach, the narrowest first: what its policy allows
// now, and allowed when it was asked.
func alwaysScopes(r *approvals.Request) (all []approvals.Scope) {
	if r.Kind != agent.Confirm || r.AskedDigest != (agent.Digest{}) || careful(r) {
		return nil
	}
	for _, s := range []approvals.Scope{
		approvals.ScopeRun, approvals.ScopeThread, approvals.ScopeChannel, approvals.ScopeWorkspace,
	} {
		now := r.Progress == nil || slices.Contains(r.Progress.Current.Always, s)
		if now && slices.Contains(r.Requirement.Always, s) {
			all = append(all, s)
		}
	}
	return all
}

// alwaysForm answers for later calls too, as far as the person chooses.
func alwaysForm(affirm bool) form {
	f := form{title: "Always approve", submit: "Always approve", whole: true}
	verdict := approvals.AlwaysApprove
	if !affirm {
		f = form{title: "Always reject", submit: "Always reject"}
		verdict = approvals.AlwaysReject
	}
	f.ask = func(r *approvals.Request) ([]slack.Block, phrase) {
		scopes := alwaysScopes(r)
		if len(scopes) == 0 {
			return nil, phrase{"The policy lets nobody answer for later calls of ", strong(toolName(r)),
				" too. Answer this call alone."}
		}
		var all []choice
		for _, s := range scopes {
			all = append(all, scopeChoice(r, s))
		}
		chooser := oneInput(scopeBlock, "How far does it reach?", "", all, all[0].value)
		blocks := append(alwaysWords(r, affirm), chooser)
		if votesBefore(r, affirm).once > 0 { // it is for this call alone
			return blocks, nil
		}
		return append(blocks, termInputs(r, affirm)...), nil
	}
	f.read = func(r *approvals.Request, v values) (approvals.Decision, map[string]string) {
		scope := approvals.Scope(v.chosen(scopeBlock))
		if !slices.Contains(alwaysScopes(r), scope) {
			return approvals.Decision{}, map[string]string{scopeBlock: "Please choose how far it reaches."}
		}
		terms, bad := readTerms(r, scope, v)
		if bad != nil {
			return approvals.Decision{}, bad
		}
		return approvals.Decision{Verdict: verdict, Grant: terms}, nil
	}
	f.at = termBlock
	return f
}

// scopeChoice says of a scope how far it reaches, and until when.
func scopeChoice(r *approvals.Request, s approvals.Scope) choice {
	lasts := "For " + rounded(r.GrantLasts()) + " at most"
	switch s {
	case approvals.ScopeThread:
		return choice{string(s), "This thread", lasts + ", for all runs in this thread"}
	case approvals.ScopeChannel:
		if r.Place.Direct {
			return choice{string(s), "This conversation", lasts + ", for all runs in this conversation"}
		}
		return choice{string(s), "This channel", lasts + ", for all runs in this channel"}
	case approvals.ScopeWorkspace:
		return choice{string(s), "The whole workspace", lasts + ", for all runs anywhere"}
	}
	return choice{string(s), "This run", "Until this run ends. Other runs ask again"}
}

// alwaysWords say what a standing answer allows, which waiting calls it answers too, and, where others have to answer
// or have answered, what becomes of it.
func alwaysWords(r *approvals.Request, affirm bool) []slack.Block {
	verb, once := "Approves", "approve"
	if !affirm {
		verb, once = "Rejects", "reject"
	}
	tool, by := strong(label(r.Tool.Name, 80)), strong(label(r.Agent, 80))
	before := votesBefore(r, affirm)
	if before.once > 0 {
		return paragraphs(phrase{verb + " this call alone: somebody has answered for this call only, and always " +
			"counts if everybody answers always. Later calls of ", tool, " ask again."})
	}
	lines := []phrase{{verb + " this call and every later call of ", tool, " by the agent ", by,
		", as far as you choose below; where you choose nothing, with any arguments. Nobody is asked about those."}}
	if before.left > 0 {
		lines = append(lines, phrase{fmt.Sprintf("It holds for later calls only if %s always too; if they only %s, it "+
			"is for this call alone.", more(before.left), once)})
	}
	if len(alwaysScopes(r)) > 1 || !slices.Contains(alwaysScopes(r), approvals.ScopeRun) {
		lines = append(lines, phrase{"What reaches beyond this run is listed by ", code(slashCommand + " grants"),
			" and ended by ", code(slashCommand + " revoke"), "."})
	}
	return append(paragraphs(lines[0]), append(moreParagraphs(lines[1:]), coveredBlocks(r, affirm)...)...)
}

func moreParagraphs(lines []phrase) (blocks []slack.Block) {
	for _, line := range lines {
		blocks = append(blocks, paragraph(line))
	}
	return blocks
}

// coveredBlocks name the waiting calls that a standing answer settles too.
func coveredBlocks(r *approvals.Request, affirm bool) []slack.Block {
	if len(r.Covers) == 0 {
		return nil
	}
	lead := "It also answers "
	if votesBefore(r, affirm).left > 0 {
		lead = "Then it also answers "
	}
	lines := []phrase{{lead + waiting(len(r.Covers)) + ", as far as your choice covers it and the policy lets it:"}}
	for _, c := range r.Covers[:min(mostCovered, len(r.Covers))] {
		lines = append(lines, phrase{"• ", code(label(flatWords(c.Shown), 200))})
	}
	if left := len(r.Covers) - mostCovered; left > 0 {
		lines = append(lines, phrase{fmt.Sprintf("and %d more", left)})
	}
	return []slack.Block{paragraph(lines...)}
}

// flatWords are arguments on one line, as far as they are a flat object; else they stay JSON.
func flatWords(arguments string) string {
	all, ok := membersOf(json.RawMessage(arguments))
	if !ok {
		return arguments
	}
	var parts []string
	for _, m := range all {
		parts = append(parts, m.name+" "+plainValue(m.value))
	}
	return strings.Join(parts, ", ")
}

func waiting(n int) string {
	if n == 1 {
		return "1 call that waits now"
	}
	return fmt.Sprintf("%d calls that wait now", n)
}
