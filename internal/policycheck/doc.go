// Package policycheck says what the policies of an agents file would do, without doing it. Nothing is run, asked or
// written, and nobody is contacted.
//
//	subject judge              what an agents file says about one call
//	cases difference           calls that are written down, with what is expected of them
//	replay replay_* load       recorded requests against an agents file
//	suggest suggest_*          what the recorded answers would have had an agents file say
package policycheck
