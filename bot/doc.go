// Package bot is the Slack surface. It decodes what Slack delivers, calls one method of the approvals service, and
// renders what the service answers; it holds no rule of its own about who may do what.
//
// [Client] is the end of Slack's Web API and an approvals.Directory. [Bot] takes events, clicks, forms and commands,
// over Socket Mode or signed HTTP requests, and is the approvals.Notifier that posts cards, answers and notices.
//
// What a caller may rely on:
//
//   - A click or message is acknowledged to Slack after the service has committed it. A decision that takes longer than
//     Slack waits is acknowledged with the words that it is not confirmed yet, and the person is told how it went. What
//     is delivered twice is harmless.
//   - Text written by models, tools or people never reaches Slack as markup. It goes into plain_text and rich_text
//     text elements, and what a reader could not see is written out as \u{XXXX}.
//   - A button that approves is offered only where the whole call was shown to the person who sees the button.
//   - Only ids are taken from a payload. Everything shown comes from the store, and a decision carries the digest of
//     what was shown.
//   - Tokens, signing secrets, trigger ids and response URLs appear in no log line and no error.
package bot
