// Package demo shows the program at work without an account and without a network: a local Slack workspace, a local
// payments service, and a scripted model, all in this process, and the real bot in a process of its own with the real
// store.
//
// A [Stage] holds all that. [Stage.Wait] lets people try it in a browser; [Play] plays a story by itself and checks
// every step of it.
package demo
