package bot

import (
	"errors"
	"html"
	"io"
	"net/http"
	"strings"

	"countersign/approvals"
)

// installPage is a page that a person sees after Slack's.
type installPage struct {
	status int
	Title  string
	Words  []string
	Steps  []string
	Again  string // where to begin anew; empty: nowhere
}

// html renders the page. Every word of it is escaped.
func (p *installPage) html() string {
	var b strings.Builder
	line := func(before, text, after string) { b.WriteString(before + html.EscapeString(text) + after + "\n") }
	b.WriteString(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 38rem; margin: 3rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
</style>
`)
	line("<title>", p.Title, "</title>\n</head>\n<body>\n<main>")
	line("<h1>", p.Title, "</h1>")
	for _, words := range p.Words {
		line("<p>", words, "</p>")
	}
	if p.Steps != nil {
		b.WriteString("<ol>\n")
		for _, step := range p.Steps {
			line("<li>", step, "</li>")
		}
		b.WriteString("</ol>\n")
	}
	if p.Again != "" {
		line(`<p><a href="`, p.Again, `">Begin again</a></p>`)
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	return b.String()
}

// unseen keeps an answer out of caches, and its address, which holds the code, from other sites.
func unseen(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

func (in *installer) show(w http.ResponseWriter, status int, p installPage) {
	h := w.Header()
	unseen(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'none'")
	if status != http.StatusOK {
		p.Again = in.at(PathInstall)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, p.html()) // whoever is gone meanwhile comes back
}

// installed says what to do next.
func installed(i *approvals.Installation) installPage {
	p := installPage{
		Title: "The app is installed in " + i.Name,
		Words: []string{"You can close this page. What to do next, in Slack:"},
		Steps: []string{
			"Invite the app to a channel: write /invite there, followed by a space and @ and its name.",
			"Mention it in that channel and say what it shall do.",
			"Before a tool call that matters it asks there, and people of the channel decide with a click.",
		},
	}
	var lacks *ScopeError
	if errors.As(missingScopes(i.Scopes), &lacks) {
		p.Words = append([]string{"Slack did not give all that was asked for. Without these scopes parts of it do " +
			"not work: " + strings.Join(lacks.Missing, ", ") + "."}, p.Words...)
	}
	return p
}

// refusedState says why the browser is not taken back.
func refusedState(err error) installPage {
	p := installPage{status: http.StatusBadRequest, Title: "The app was not installed"}
	switch {
	case errors.Is(err, errStateExpired):
		p.Words = []string{"This took longer than ten minutes."}
	case errors.Is(err, errStateUsed):
		p.Words = []string{"This page was opened before. If it said then that the app is installed, all is well."}
	case errors.Is(err, errStateMany):
		p.status = http.StatusServiceUnavailable
		p.Words = []string{"Too many people install the app at this moment. Wait for some minutes."}
	default:
		p.Words = []string{"This installation was not begun in this browser, or not since the bot was started. " +
			"If somebody sent you this link, do not follow it."}
	}
	return p
}

// refusedBySlack says what Slack's page says.
func refusedBySlack(word string) installPage {
	p := installPage{status: http.StatusForbidden, Title: "The app was not installed"}
	if word == "access_denied" {
		p.Words = []string{"You pressed Cancel on Slack's page, or may not install apps in this workspace. " +
			"Nothing was changed."}
		return p
	}
	p.Words = []string{"Slack did not go on, and says: " + label(word, 60) + ". Nothing was changed."}
	return p
}

// refusedExchange says what became of the code.
func refusedExchange(err error) installPage {
	p := installPage{status: http.StatusBadGateway, Title: "The app was not installed"}
	word, _ := refusal(err)
	switch {
	case errors.Is(err, errRotates):
		p.Words = []string{"The app's tokens would expire: token rotation is switched on in its settings at Slack, " +
			"and cannot be switched off again. The operator of the bot needs an app without it."}
	case errors.Is(err, errNoBot), errors.Is(err, errNoTenant):
		p.Words = []string{"Slack did not say all that the bot needs to know. The operator of the bot finds more in " +
			"its log."}
	case errors.Is(err, errNoCode), word == "invalid_code":
		p.status = http.StatusBadRequest
		p.Words = []string{"Slack does not know this code, or not any more: it can be used once, for ten minutes."}
	case word == "bad_client_secret", word == "invalid_client_id", word == "bad_redirect_uri":
		p.Words = []string{"The bot and Slack do not agree about the app (" + word + "). Its operator has to compare " +
			"SLACK_CLIENT_ID, SLACK_CLIENT_SECRET and the redirect URL with the app's settings at Slack."}
	case word != "":
		p.Words = []string{"Slack refuses the installation, and says: " + word + "."}
	default:
		p.Words = []string{"Slack does not answer at this moment. Nothing is lost; begin again in a while."}
	}
	return p
}

// notServed is for a workspace that the operator has not named. Slack has the app installed there already.
func notServed(made *approvals.Installation) installPage {
	return installPage{
		status: http.StatusForbidden, Title: "The app was not installed",
		Words: []string{
			"The operator of this bot has not named your workspace (" + string(made.Workspace) + ") as one that it " +
				"works for. Nothing was stored, and the bot does nothing there. Ask the operator, then begin again.",
			"Slack lists the app among those of your workspace: remove it there if you do not want it.",
		},
	}
}

func unstored() installPage {
	return installPage{
		status: http.StatusServiceUnavailable, Title: "The app was not installed",
		Words: []string{"The bot could not store the installation. Begin again in a while; the operator of the bot " +
			"finds more in its log."},
	}
}
