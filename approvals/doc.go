// Package approvals is the organisation's side of human-in-the-loop: durable runs, requests to people, their
// decisions, policies, the audit trail, the outbox, and the contract that stores fulfil.
//
// Every rule lives here, once. A [Store] only keeps records; a chat surface only decodes, calls one [Service] method
// and renders what a [Notifier] receives. [Service] is called by surfaces, [Worker] executes what is due, and the two
// talk through the store alone: nobody calls upward and waits, and nothing exists in memory while a person thinks.
//
// What a caller may rely on:
//
//   - What Service returned without error is committed: decision, audit entry, outbox and job in one transaction.
//   - A call runs at most once. When a crash leaves it open whether it ran, a person is asked.
//   - A decision is bound to the digest of what was shown, and compared again right before execution.
//   - Every record belongs to one workspace; no method crosses workspaces.
package approvals
