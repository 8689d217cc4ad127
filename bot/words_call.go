package bot

import (
	"fmt"

	"countersign/agent"
)

// What cards and the details say around a call's own text: headings, notes of how much there is, warnings.

// Headings of the details, and what some of them are followed by.
const (
	wordsArguments   = "Arguments"
	wordsAllShown    = ", complete"
	wordsMasksStand  = "; ••• stands for a secret value"
	wordsSpacesStand = `; \u{20*N} stands for N spaces`
	wordsSameEasier  = ", the same as in the arguments, easier to read"

	wordsReadOff = ", read off the arguments"

	wordsChangedByPeople = "Changed by people"
	wordsModelToRun      = ", what the model wrote → what runs"
	wordsModelWrote      = "The model wrote"

	wordsToFillIn = "To be filled in"

	wordsDependsOn   = "Depends on"
	wordsLookedAgain = ", looked at again right before it runs"

	wordsToolSays    = "What the tool says of itself"
	wordsToolVersion = "Version of the tool"
	wordsToolTakes   = "What the tool takes"
	wordsJSONSchema  = ", JSON Schema"

	wordsScript     = "Script"
	wordsScripts    = "Scripts"
	wordsProgram    = "Program and arguments"
	wordsPatch      = "Patch"
	wordsInput      = "Input"
	wordsCommands   = "Commands"
	wordsFiles      = "Files"
	wordsOtherWords = "In other words"
)

// How much there is of something, and where all of it stands.

func wordsLines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

func wordsLinesInDetails(n int) phrase {
	return phrase{fmt.Sprintf(": %s, in ", wordsLines(n)), strong(wordsShowDetails)}
}

func wordsBeginningOfLines(n int) phrase {
	return phrase{fmt.Sprintf(": the beginning of %s, all of it in ", wordsLines(n)), strong(wordsShowDetails)}
}

func wordsInDetails() phrase { return phrase{": in ", strong(wordsShowDetails)} }

func wordsBeginning() phrase {
	return phrase{", the beginning; all of it is in ", strong(wordsShowDetails)}
}

// wordsOpening begins the part of a call that a message has room for. runs: people decide whether it runs.
func wordsOpening(shown, all int, runs bool) phrase {
	p := phrase{
		strong("Too long for a card."), fmt.Sprintf(" This is the beginning, %d of %d characters. ", shown, all),
		strong(wordsShowDetails), " has all of it",
	}
	if runs {
		p = append(p, ", and approving is offered at its end")
	}
	return append(p, ".")
}

func wordsNumberedParts(n int) string { return fmt.Sprintf(" (%d, one to a number)", n) }

func wordsJSONLength(characters int) string {
	return fmt.Sprintf(" (%d characters of JSON)", characters)
}

// wordsTextLength is the length of a text that stands in a box; endsInBreak: with a line break that is not shown.
func wordsTextLength(lines, characters int, endsInBreak bool) string {
	note := " ("
	if lines > 1 {
		note += fmt.Sprintf("%d lines, ", lines)
	}
	note += fmt.Sprintf("%d characters", characters)
	if endsInBreak {
		note += ", with a line break at the end"
	}
	return note + ")"
}

// wordsCut marks a quotation that was cut, and how long all of it is.
func wordsCut(characters int) string { return fmt.Sprintf("… (%d characters)", characters) }

// Warnings.

func wordsHiddenCharacters() phrase {
	return phrase{
		strong("Careful: "),
		`this call contains invisible, misleading or padding characters. They are written out as \u{…}.`,
	}
}

func wordsMixedAlphabets() phrase {
	return phrase{
		strong("Careful: "), "one word has letters of several alphabets, or letters that look like others. ",
		`Those are written out as \u{…} or have ˑ before them.`,
	}
}

// Labels of the lines of a card.
const (
	wordsArgumentsRow = "arguments"
	wordsFillInRow    = "to fill in"
	wordsRunsRow      = "runs"
	wordsBoundRow     = "bound to"
	wordsDependsRow   = "depends on"
)

// wordsWhere name what a call acts on, by kind.
var wordsWhere = map[agent.ToolKind]string{
	agent.KindHTTP: "sends", agent.KindShell: "where", agent.KindApplyPatch: "where", agent.KindMCP: "server",
	agent.KindHostedMCP: "server", agent.KindAgent: "sets to work",
}

// wordsContentOf names a thing by whose content a call is bound.
func wordsContentOf(name string) string { return "content of " + name }

// What a tool is bound to: a heading, what follows it, and what the first word of a part is replaced by.
const (
	wordsSendsTo         = "Sends to"
	wordsRunsHere        = "Runs on the bot's machine"
	wordsChangesFiles    = "Changes files on the bot's machine"
	wordsMCPServer       = "MCP server"
	wordsOfModelProvider = ", which the model's provider talks to"
	wordsSetsToWork      = "Sets another agent to work"
	wordsBoundTo         = "Bound to"
)

var (
	wordsShellParts  = map[string]string{"workdir": "In ", "shell": "Scripts are read by ", "env": "Variables "}
	wordsPatchParts  = map[string]string{"root": "In ", "allow": "Only "}
	wordsHostedParts = map[string]string{
		"server_label": "Label ", "server_url": "At ", "connector_id": "Connector ", "header": "Header ",
	}
	wordsServerParts = map[string]string{
		"server": "Server ", "transport": "Over ", "url": "At ", "command": "Started here as ", "header": "Header ",
		"dir": "In ", "env": "Variables ",
	}
	wordsClaimParts = map[string]string{
		"tool": "Its name there: ", "title": "Title: ", "annotations.title": "Title in the annotations: ",
	}
)

func wordsVariableNamed(name string) string { return "A variable named " + name }

func wordsWithHeaders(names string) string { return "With the headers " + names }

// What a server says about its own tool.
const (
	wordsServerSays   = "The server says about its tool"
	wordsUnchecked    = ", and nobody has checked it"
	wordsTheServer    = "The server"
	wordsSaysOfItsOwn = " says of its own tool, and nobody has checked it:"
)

// wordsHints say what an MCP server's hint means when it is true and when it is false.
var wordsHints = map[string][2]string{
	"readOnlyHint":    {"It changes nothing", "It may change something"},
	"destructiveHint": {"It may overwrite or delete", "It only adds"},
	"idempotentHint":  {"Calling it again changes nothing more", "Calling it again may change more"},
	"openWorldHint":   {"It reaches things outside the server", "It stays within the server's own things"},
}

// The window of the details.

const (
	wordsCallDetails       = "Call details"
	wordsApproveOnLastPage = "Approving is offered on the last page."
	wordsLastApprovedCall  = "Last approved call of this tool"
	wordsHadSameArguments  = "It had the same arguments."
	wordsToolChangedSince  = "The tool has changed since"
)

func wordsPage(page, of int) string { return fmt.Sprintf("Page %d of %d", page, of) }

func wordsMoreArgumentsDiffer(n int) string { return fmt.Sprintf("and %d more arguments differ", n) }

func wordsMoreAnswers(n int, request string) phrase {
	return phrase{fmt.Sprintf("%d more answers: ", n), code("countersign approvals show " + request), " prints them."}
}

// Secret values that somebody was shown, or not.

func wordsWithSecrets() phrase {
	return phrase{strong("Secret values are shown."), " That you saw them is recorded."}
}

// wordsNotRevealed is followed by why, a continuation of the sentence, or by nothing.
func wordsNotRevealed(why string) phrase {
	return phrase{"Secret values are shown to those who may decide about the call, and you may not" + why + "."}
}

const wordsRevealedBefore = "Secret values are shown to those who have yet to answer. "
