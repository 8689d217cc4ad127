// Package plant holds bugs for the dialogues to find: one for each group of rules, planted by the build tag "bug_" and
// the group's letter. The dialogues of that group, and no others, must turn red then; .ci/planted looks. Without a tag
// all of them are false and cost nothing.
package plant

// The bugs.
const (
	A = bug == 'a' // a gate that fails lets the call through
	B = bug == 'b' // ids of questions hold what the provider wrote, unescaped
	C = bug == 'c' // a call that is made again under its id with other arguments counts as the same
	D = bug == 'd' // a decision with Always erases the exact ones that people gave before
	E = bug == 'e' // the message of a standing rejection goes before that of the exact one
	F = bug == 'f' // people are asked although a guardrail has answered the call
	G = bug == 'g' // questions share their arguments with the state
	H = bug == 'h' // a tool choice is forced for ever
	I = bug == 'i' // inside an agent used as a tool, what is approved waits for its siblings
	J = bug == 'j' // a stream is not told of tools that start
	K = bug == 'k' // what the session holds is not in a checkpoint
	M = bug == 'm' // a saved call may have other arguments than were decided
	O = bug == 'o' // two tools of a toolset may have one name
)
