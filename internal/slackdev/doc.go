// Package slackdev is a Slack workspace that runs inside one process and speaks
// Slack's real protocols: the Web API, Socket Mode, signed HTTP delivery,
// response URLs, modals, App Home and slash commands. A bot that talks to it
// uses its ordinary Slack client; only the base URL of the API differs.
//
// It has two uses. Tests act as people through the methods of [Workspace]
// ([Workspace.Post], [Workspace.Click], [Workspace.Submit], …), read back what
// the bot did ([Workspace.Messages], [Workspace.Calls], [Workspace.Deliveries])
// and inject faults ([Workspace.Fail], [Workspace.Disconnect], …). The demo
// shows the page at [Workspace.URL], where a person does the same in a browser.
//
// The workspace is as strict as Slack: lengths and counts of Block Kit, tokens
// by kind, scopes, trigger ids that live three seconds and work once, response
// URLs with five uses, the three-second acknowledgement, redelivery of events.
// Where Slack's behaviour is not documented it takes the stricter reading.
//
// Not modelled: uploads by the app, org-wide installations with several teams,
// and more than one app.
package slackdev
