package app

// commands is the command line.
type commands struct {
	Run         runCommand         `cmd:"" default:"1" help:"Run the bot (what happens without a command)."`
	Demo        demoCommand        `cmd:"" help:"Try it on this machine: a local Slack workspace in the browser, no account needed."`
	Check       checkCommand       `cmd:"" help:"Check the environment, the agents file, the policies and the Slack token."`
	Approvals   approvalsCommands  `cmd:"" help:"List, show and decide requests."`
	Audit       auditCommands      `cmd:"" help:"Verify and export the audit trail."`
	Backup      backupCommand      `cmd:"" help:"Copy the store to a file, also while the bot runs."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
	Library     libraryCommand     `cmd:"" name:"demo-mcp" hidden:"" help:"Serve the documents of the demo as an MCP server."`
	Healthcheck healthcheckCommand `cmd:"" hidden:"" help:"Exit with 0 when the bot on this machine is ready."`
}

// Help is the text below the usage line.
func (commands) Help() string {
	return "Example:\n\n    countersign check && countersign\n"
}

type approvalsCommands struct {
	List   listCommand   `cmd:"" help:"List pending requests, oldest first."`
	Show   showCommand   `cmd:"" help:"Show one request with its arguments and decisions."`
	Decide decideCommand `cmd:"" help:"Answer a request in the name of a Slack user."`
}

type auditCommands struct {
	Verify verifyCommand `cmd:"" help:"Recompute the audit chain and compare."`
	Export exportCommand `cmd:"" help:"Write the audit trail as one JSON object per line."`
}

// Help is the text below the usage line.
func (approvalsCommands) Help() string {
	return "Example:\n\n    countersign approvals list\n"
}

// Help is the text below the usage line.
func (auditCommands) Help() string {
	return "Example:\n\n    countersign audit verify\n"
}
