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
		line(`<p><a href="`, p.Again, `">`+wordsBeginAgain+`</a></p>`)
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
		Title: wordsInstalledIn(i.Name),
		Words: []string{wordsInstallDone},
		Steps: wordsInstallSteps,
	}
	var lacks *ScopeError
	if errors.As(missingScopes(i.Scopes), &lacks) {
		p.Words = append([]string{wordsScopesMissing(strings.Join(lacks.Missing, ", "))}, p.Words...)
	}
	return p
}

// refusedState says why the browser is not taken back.
func refusedState(err error) installPage {
	p := installPage{status: http.StatusBadRequest, Title: wordsInstallFailed}
	switch {
	case errors.Is(err, errStateExpired):
		p.Words = []string{wordsInstallTooLate}
	case errors.Is(err, errStateUsed):
		p.Words = []string{wordsInstallUsed}
	case errors.Is(err, errStateMany):
		p.status = http.StatusServiceUnavailable
		p.Words = []string{wordsInstallMany}
	default:
		p.Words = []string{wordsInstallForeign}
	}
	return p
}

// refusedBySlack says what Slack's page says.
func refusedBySlack(word string) installPage {
	p := installPage{status: http.StatusForbidden, Title: wordsInstallFailed}
	if word == "access_denied" {
		p.Words = []string{wordsInstallCancelled}
		return p
	}
	p.Words = []string{wordsSlackStopped(label(word, 60))}
	return p
}

// refusedExchange says what became of the code.
func refusedExchange(err error) installPage {
	p := installPage{status: http.StatusBadGateway, Title: wordsInstallFailed}
	word, _ := refusal(err)
	switch {
	case errors.Is(err, errRotates):
		p.Words = []string{wordsTokensExpire}
	case errors.Is(err, errNoBot), errors.Is(err, errNoTenant):
		p.Words = []string{wordsSlackSaysTooLittle}
	case errors.Is(err, errNoCode), word == "invalid_code":
		p.status = http.StatusBadRequest
		p.Words = []string{wordsCodeUnknown}
	case word == "bad_client_secret", word == "invalid_client_id", word == "bad_redirect_uri":
		p.Words = []string{wordsAppDisagrees(word)}
	case word != "":
		p.Words = []string{wordsSlackRefuses(word)}
	default:
		p.Words = []string{wordsSlackSilent}
	}
	return p
}

// notServed is for a workspace that the operator has not named. Slack has the app installed there already.
func notServed(made *approvals.Installation) installPage {
	return installPage{
		status: http.StatusForbidden, Title: wordsInstallFailed,
		Words: wordsNotServed(string(made.Workspace)),
	}
}

func unstored() installPage {
	return installPage{
		status: http.StatusServiceUnavailable, Title: wordsInstallFailed,
		Words: []string{wordsNotStored},
	}
}
