// Package openaidev is a local server that speaks OpenAI's Responses API from a script. The demo, tests, crash tests and
// benchmarks talk to it through the real client, so nothing about the wire is made up twice.
//
// The server keeps no conversation: each answer follows from the request alone, and so do all its ids. A request that
// is sent again, by a retry or by another process after a crash, gets the same answer. It refuses what OpenAI refuses:
// outputs without a call, calls without an output, repeated call ids, tools whose schema does not qualify for strict
// mode, reasoning items torn from what follows them, unknown parameters, a missing key.
//
// A [Script] has [Rule]s, which choose a [Reply] by what was said, and [Fault]s, which spoil one request each.
package openaidev
