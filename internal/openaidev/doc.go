// Package openaidev is a local server that speaks OpenAI's Responses API and Chat Completions API from a script. The
// demo, tests, crash tests and benchmarks talk to it through the real client, so nothing about the wire is made up
// twice.
//
// Each answer follows from the conversation alone, and so do all its ids. A request that is sent again, by a retry or
// by another process after a crash, gets the same answer. The server keeps what a request asks it to keep: responses
// that previous_response_id names, and conversations (POST /v1/conversations); both can be deleted as at OpenAI. It
// refuses what OpenAI refuses: outputs without a call or of another kind, calls without an output, repeated call ids
// and items, also of what was kept, tools and output schemas that do not qualify for strict mode, reasoning items torn
// from what follows them, unknown parameters, a missing key.
//
// A [Script] has [Rule]s, which choose a [Reply] by what was said, and [Fault]s, which spoil one request each.
package openaidev
