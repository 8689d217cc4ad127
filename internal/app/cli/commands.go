package cli

import (
	"cmp"
	"errors"
	"strings"

	"countersign/internal/app"

	"github.com/spf13/cobra"
)

// commands is the command line.
func (l *commandLine) commands() *cobra.Command {
	root := (&runCommand{}).command(l) // what happens without a command
	root.Use, root.Args = "countersign", known
	root.Short, root.Long = "", "A Slack bot that runs AI agents and asks people before a tool call that matters."
	root.Example = "  countersign demo\n  countersign check && countersign"
	root.Version = app.BuildVersion().String()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(misnamed)
	root.AddCommand(
		(&runCommand{}).command(l),
		(&demoCommand{}).command(l),
		(&checkCommand{}).command(l),
		(&testCommand{}).command(l),
		family("approvals", "List, show and decide requests", "  countersign approvals list",
			(&listCommand{}).command(l), (&showCommand{}).command(l), (&decideCommand{}).command(l),
			(&requestsExportCommand{}).command(l),
			(&callbackCommand{}).command(l), (&breakGlassCommand{}).command(l), (&reviewCommand{}).command(l)),
		family("audit", "Verify, export and report on the audit trail", "  countersign audit verify",
			(&verifyCommand{}).command(l), (&exportCommand{}).command(l), (&reportCommand{}).command(l)),
		family("grants", "List and revoke answers for later calls", "  countersign grants list",
			(&grantsListCommand{}).command(l), (&grantsRevokeCommand{}).command(l)),
		family("runs", "List, show, cancel and retry runs", "  countersign runs list",
			(&runsListCommand{}).command(l), (&runsShowCommand{}).command(l), (&runsCancelCommand{}).command(l),
			(&runsRetryCommand{}).command(l)),
		family("outbox", "List what could not be delivered, and try again", "  countersign outbox list",
			(&outboxListCommand{}).command(l), (&replayCommand{}).command(l)),
		family("policy", "Try out policies: on written cases, and on what people were asked",
			"  countersign policy test cases.yaml",
			(&policyTestCommand{}).command(l), (&simulateCommand{}).command(l), (&suggestCommand{}).command(l)),
		(&backupCommand{}).command(l),
		(&restoreCommand{}).command(l),
		(&compactCommand{}).command(l),
		(&migrateCommand{}).command(l),
		(&versionCommand{}).command(l),
		(&libraryCommand{}).command(l),
		(&healthcheckCommand{}).command(l),
	)
	root.SetOut(l.program.Stdout) // before finish: the library's own commands remember it
	root.SetErr(l.program.Stderr)
	finish(root)
	return root
}

// finish has the commands that the library adds refuse what they do not know, as all others do.
func finish(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args, c.Example = topic, "  countersign help approvals decide"
		case "completion":
			c.Example = "  source <(countersign completion bash)"
			onlyMembers(c)
		}
	}
}

// family is a command that only has others below it.
func family(name, short, example string, members ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Example: example}
	c.AddCommand(members...)
	onlyMembers(c)
	return c
}

func onlyMembers(c *cobra.Command) {
	c.Args = known
	c.RunE = func(c *cobra.Command, _ []string) error {
		return misused("%s does nothing by itself; it has the commands %s", c.CommandPath(), names(c))
	}
}

// names lists the commands below c.
func names(c *cobra.Command) string {
	var names []string
	for _, m := range c.Commands() {
		if m.IsAvailableCommand() {
			names = append(names, m.Name())
		}
	}
	return strings.Join(names, ", ")
}

// known refuses the argument that none of the commands below c is called.
func known(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); args[0] != "" && len(near) > 0 {
		return misused("%s has no command %q; did you mean %s?", c.CommandPath(), args[0], strings.Join(near, " or "))
	}
	return misused("%s has no command %q; it has %s", c.CommandPath(), args[0], names(c))
}

// misnamed is the error of a line whose flags cannot be read. A flag that belongs to a mistyped command is not what is
// wrong.
func misnamed(c *cobra.Command, err error) error {
	if c.HasSubCommands() {
		return cmp.Or(known(c, c.Flags().Args()), err)
	}
	return err
}

// topic refuses to help with a command that does not exist.
func topic(help *cobra.Command, args []string) error {
	c, rest, err := help.Root().Find(args)
	switch {
	case err != nil:
		return err
	case c.HasSubCommands():
		err = known(c, rest)
	default:
		err = none(c, rest)
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		usage.try = c.CommandPath()
	}
	return err
}

// none refuses arguments.
func none(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misused("unexpected argument %q", args[0])
	}
	return nil
}

// one takes the argument that a command cannot do without.
func one(what string, value *string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return misused("%s needs %s", c.CommandPath(), what)
		}
		return atMostOne(value)(c, args)
	}
}

// atMostOne takes an argument that may be left out.
func atMostOne(value *string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			*value = args[0]
			return none(c, args[1:])
		}
		return nil
	}
}
