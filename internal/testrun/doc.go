// Package testrun plays the tests of a test file: the real bot, as a process of its own, with the operator's own agents
// file, against a local Slack workspace, a scripted model, and stubs of the services that the agents call. Nothing
// leaves this machine.
//
// What is expected is compared with what the workspace shows and the store holds, never with what the bot says of
// itself. What no step expects fails a test as well: a call that a stub receives, a card, a message, an answer that the
// model is asked for, and at the end a request that waits.
package testrun
