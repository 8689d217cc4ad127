package demo

import "countersign/internal/slackdev"

// What the page proposes to do, in this order. The first of each is the story that the terminal tells of.
var (
	billsTries = []slackdev.Try{
		{Text: "@countersign pay invoice 1042",
			Then: "The card waits in the thread. Become Ben and press Approve: whoever asked may not."},
		{Text: "@countersign pay both invoices",
			Then: "1042 is paid already, so one card comes. Reject it with a reason: the agent reads the " +
				"reason."},
		{Text: "@countersign transfer 75 to Initech for lunch",
			Then: "Become Gus, a guest, and press Approve: the bot says why that does not count. Then be " +
				"Cleo."},
		{Text: "@countersign transfer 20 to Globex for stamps",
			Then: "Up to 50 nobody is asked. It is recorded all the same."},
		{Text: "@countersign pay invoice 1044 and 1045",
			Then: "Two cards at once. Try what is behind the other buttons of a card, and Show details."},
		{Text: "/approvals",
			Then: "What waits for whoever you are. The same list is on the Home tab of the app, and " +
				"behind the shortcut Pending approvals."},
		{Text: "@countersign what is the balance?",
			Then: "Reading needs nobody. The payments service has a page with its ledger: the terminal " +
				"says where."},
	}
	financeTries = []slackdev.Try{
		{Text: "@countersign pay both invoices",
			Then: "Two cards. Become Ben and approve both: the large payment also needs Cleo, a " +
				"controller."},
		{Text: "@countersign pay invoice 1044",
			Then: "Become Cleo: she may not decide this one alone, and is told who may."},
		{Text: "@countersign transfer 40 to Initech for stamps",
			Then: "Up to 50 nobody is asked, if Ben of finance wants it. Ann is not of finance, so Ben is " +
				"asked. Become Ben and ask for the same."},
		{Text: "/approvals",
			Then: "What waits for whoever you are."},
	}
	operationsTries = []slackdev.Try{
		{Text: "@countersign set the web server to 8 workers",
			Then: "The card shows the change as a diff. Become Ben and press Approve; then a command " +
				"asks."},
		{Text: "@countersign set the web server to 6 workers",
			Then: "Before you approve, change web.conf by hand (the terminal says where): the card " +
				"becomes stale."},
		{Text: "@countersign have port 443 opened",
			Then: "Approve it, then report what came of it with Provide result, as somebody of the " +
				"network team would."},
		{Text: "@countersign how is the web server configured?",
			Then: "Reading a file is a command, and asks too unless the agents file says otherwise."},
		{Text: "/approvals",
			Then: "What waits for whoever you are."},
	}
	researchTries = []slackdev.Try{
		{Text: "@countersign find out about the outage and publish a report",
			Then: "The desk hands over to a researcher, whose editor asks. Become Ben and press Approve."},
		{Text: "@countersign what do we know about certificates?",
			Then: "Reading needs nobody."},
		{Text: "@countersign publish a report about certificates",
			Then: "Reject it with a reason: the editor reads the reason."},
		{Text: "/approvals",
			Then: "What waits for whoever you are."},
	}
	ownTries = []slackdev.Try{
		{Text: "@countersign what can you do?",
			Then: "This is your own agents file: ask what its agents are for."},
		{Text: "/approvals",
			Then: "What waits for whoever you are."},
	}
)
