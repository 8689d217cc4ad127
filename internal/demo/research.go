package demo

import (
	"encoding/json"
	"regexp"
	"strings"

	"countersign/examples"
	"countersign/internal/openaidev"
)

const outageDocument = `# Outage of 3 November

Checkout was down from 09:12 to 09:53. Its certificate had expired, and nobody had been warned.
`

const certificatesDocument = `# Certificates

Certificates are renewed thirty days before they expire. The reminder goes to whoever installed them.
`

// research is the example with three agents and an MCP server: what an inner agent wants to publish waits for people.
func research() example {
	return example{
		agents: examples.Research,
		room:   room{"research", "What we know", researchTries},
		ideas: `write "@countersign find out about the outage and publish a report" in #research; ` +
			`then switch to Ben and click Approve
      ask what we know about certificates, reject a text`,
		place: func(s *Stage) string { return "The folder with the documents: " + s.workdir() },
		files: []file{
			{"certificates.md", certificatesDocument, 0o600}, {"outage-3-november.md", outageDocument, 0o600},
		},
		script: func() openaidev.Script {
			return openaidev.Script{Rules: []openaidev.Rule{{Round: openaidev.AnyRound, Func: investigate}}}
		},
		decisions: 1,
		steps:     func(t *story) []step { return (&researchStory{story: t}).steps() },
	}
}

var (
	wantsResearch = regexp.MustCompile(`(?i)outage|certificate|document|report|publish|librar`)
	wantsText     = regexp.MustCompile(`(?i)publish|report|write`)
)

// investigate is what the scripted agents say: which of them is asked follows from the tools on offer.
func investigate(t *openaidev.Turn) openaidev.Reply {
	switch {
	case t.Missing("transfer_to_researcher") == "":
		if wantsResearch.MatchString(t.User) {
			return openaidev.Reply{Calls: []openaidev.Call{{Name: "transfer_to_researcher", Arguments: "{}"}}}
		}
		return openaidev.Reply{Text: "I am the desk. Try one of these:\n" +
			"• find out about the outage and publish a report\n• what do we know about certificates?\n" +
			"Publishing waits for somebody's approval."}
	case t.Missing("list_documents", "read_document", "ask_editor") == "":
		return researcher(t)
	case t.Missing("publish_document") == "":
		return editor(t)
	}
	return openaidev.Reply{Text: "I was made for the example as it is, and this agent has other tools."}
}

// researcher reads everything, and has a report published if that is wanted. The first round was the desk's.
func researcher(t *openaidev.Turn) openaidev.Reply {
	switch t.Round {
	case 1:
		return openaidev.Reply{Calls: []openaidev.Call{{Name: "list_documents", Arguments: "{}"}}}
	case 2:
		var r openaidev.Reply
		for name := range strings.FieldsSeq(t.Output().Text) {
			r.Calls = append(r.Calls, openaidev.Call{Name: "read_document", Arguments: `{"name":` + quoted(name) + `}`})
		}
		if len(r.Calls) == 0 {
			r.Text = "The library is empty."
		}
		return r
	case 3:
		var facts strings.Builder
		for _, o := range t.Newest() {
			facts.WriteString("\n" + o.Argument("name") + ": " + lastLine(o.Text))
		}
		if !wantsText.MatchString(t.User) {
			return openaidev.Reply{Text: "This is what the library says:" + facts.String()}
		}
		input := quoted("Publish a report with these facts:" + facts.String())
		return openaidev.Reply{
			Reasoning: "The editor publishes; it needs all the facts.",
			Calls:     []openaidev.Call{{Name: "ask_editor", Arguments: `{"input":` + input + `}`}},
		}
	}
	return openaidev.Reply{Text: "The editor says: " + t.Output().Text}
}

// editor publishes the facts it is given.
func editor(t *openaidev.Turn) openaidev.Reply {
	_, facts, _ := strings.Cut(t.User, "\n")
	switch out := t.Output().Text; {
	case t.Round == 0:
		in := publishInput{Name: "report", Text: "# Report\n\n" + facts + "\n"}
		arguments, _ := json.Marshal(in) // texts always can be
		return openaidev.Reply{Calls: []openaidev.Call{{Name: "publish_document", Arguments: string(arguments)}}}
	case strings.HasPrefix(out, "Published as "):
		return openaidev.Reply{Text: "The report is out. " + out}
	default:
		return openaidev.Reply{Text: "The report was not published. I was told: " + out}
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func quoted(text string) string {
	b, _ := json.Marshal(text) // a text always can be
	return string(b)
}
