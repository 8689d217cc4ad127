package bot

import (
	"encoding/json"

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
	f := form{title: wordsAlwaysApprove, submit: wordsAlwaysApprove, whole: true}
	verdict := approvals.AlwaysApprove
	if !affirm {
		f = form{title: wordsAlwaysReject, submit: wordsAlwaysReject}
		verdict = approvals.AlwaysReject
	}
	f.ask = func(r *approvals.Request) ([]slack.Block, phrase) {
		scopes := alwaysScopes(r)
		if len(scopes) == 0 {
			return nil, wordsNoStandingAnswer(toolName(r))
		}
		var all []choice
		for _, s := range scopes {
			all = append(all, scopeChoice(r, s))
		}
		chooser := oneInput(scopeBlock, wordsHowFar, "", all, all[0].value)
		blocks := append(alwaysWords(r, affirm), chooser)
		if votesBefore(r, affirm).once > 0 { // it is for this call alone
			return blocks, nil
		}
		return append(blocks, termInputs(r, affirm)...), nil
	}
	f.read = func(r *approvals.Request, v values) (approvals.Decision, map[string]string) {
		scope := approvals.Scope(v.chosen(scopeBlock))
		if !slices.Contains(alwaysScopes(r), scope) {
			return approvals.Decision{}, map[string]string{scopeBlock: wordsChooseHowFar}
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
	lasts := wordsAtMostFor(rounded(r.GrantLasts()))
	switch s {
	case approvals.ScopeThread:
		return choice{string(s), wordsThisThread, lasts + wordsRunsInThread}
	case approvals.ScopeChannel:
		if r.Place.Direct {
			return choice{string(s), wordsThisConversation, lasts + wordsRunsInConversation}
		}
		return choice{string(s), wordsThisChannel, lasts + wordsRunsInChannel}
	case approvals.ScopeWorkspace:
		return choice{string(s), wordsWholeWorkspace, lasts + wordsRunsAnywhere}
	}
	return choice{string(s), wordsThisRun, wordsUntilRunEnds}
}

// alwaysWords say what a standing answer allows, which waiting calls it answers too, and, where others have to answer
// or have answered, what becomes of it.
func alwaysWords(r *approvals.Request, affirm bool) []slack.Block {
	verb, once := wordsApproves, wordsOnlyApprove
	if !affirm {
		verb, once = wordsRejects, wordsOnlyReject
	}
	tool := toolName(r)
	before := votesBefore(r, affirm)
	if before.once > 0 {
		return paragraphs(wordsAlwaysDropped(verb, tool))
	}
	lines := []phrase{wordsAlwaysMeans(verb, tool, label(r.Agent, 80))}
	if before.left > 0 {
		lines = append(lines, wordsAlwaysIfAll(before.left, once))
	}
	if len(alwaysScopes(r)) > 1 || !slices.Contains(alwaysScopes(r), approvals.ScopeRun) {
		lines = append(lines, wordsListedAndEnded())
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
	lines := []phrase{{wordsCovers(len(r.Covers), votesBefore(r, affirm).left > 0)}}
	for _, c := range r.Covers[:min(mostCovered, len(r.Covers))] {
		lines = append(lines, phrase{"• ", code(label(flatWords(c.Shown), 200))})
	}
	if left := len(r.Covers) - mostCovered; left > 0 {
		lines = append(lines, phrase{wordsAndMoreCalls(left)})
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
