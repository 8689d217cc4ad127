package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/visible/visibletest"
)

// hostile is a report in which every text that others may write is the given one.
func hostile(text string) *Report {
	b := New(october)
	for _, verdict := range []approvals.Verdict{approvals.Approve, approvals.BreakGlass, approvals.Verdict(text)} {
		r := newRequest("req_"+text, noon, decidedBy(text, verdict, time.Second))
		r.Workspace, r.Tool.Name, r.Agent = approvals.WorkspaceID(text), text, text
		r.Requirement.Policy, r.Kind = text, agent.InterruptionKind(text)
		r.Decisions[0].Via = text
		r.Review = &approvals.Review{By: approvals.UserID("T1/" + text), Verdict: approvals.ReviewAccept, At: noon}
		b.Add(r)
		for i := range longStreak {
			at := noon.Add(time.Duration(i) * time.Second)
			b.Add(newRequest("req_"+text, at, decidedBy(text, approvals.Approve, 0)))
		}
	}
	for i := range 2 {
		e := &approvals.AuditEntry{Workspace: approvals.WorkspaceID(text + strings.Repeat("x", i)), Seq: 1, At: noon,
			Hash: agent.Digest{1}}
		if err := b.AddEntry(e); err != nil {
			panic(err)
		}
	}
	r := b.Report()
	r.Version = text
	return r
}

// TestNoTextIsMarkup: the page has the same elements whatever people and models have written, and nothing that hides,
// reorders or is obeyed; what was written can be read from it.
func TestNoTextIsMarkup(t *testing.T) {
	t.Parallel()
	plain := elements(t, page(t, hostile("name")))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</style>",
			"<!--", "]]>", "&lt;b&gt;", "' onload='x", "</title></svg>", "\u202egpj.exe", "\x1b[2J", "a\u200bb",
			"javascript:alert(1)"}).Draw(t, "attack") + visibletest.Hostile().Draw(t, "text")
		out := page(t, hostile(text))
		if strings.Contains(out, "<script") || strings.Contains(out, "<img") {
			t.Fatalf("markup in:\n%s", out)
		}
		if c, ok := obeyed(out); ok {
			t.Fatalf("%U is in the page as it is", c)
		}
		if have := elements(t, out); len(have) != len(plain) {
			t.Fatalf("%d elements, want %d", len(have), len(plain))
		} else {
			for i := range have {
				if have[i] != plain[i] {
					t.Fatalf("element %d is %s, want %s", i, have[i], plain[i])
				}
			}
		}
	})
	out := page(t, hostile("a<script>b\u202ec\x1bd"))
	if !strings.Contains(out, `a&lt;script&gt;b\u{202E}c\u{1B}d`) { // the control: it is there, to be read
		t.Errorf("the text is not in:\n%s", out)
	}
}

// TestTerminalIsNotTricked by what is in a report.
func TestTerminalIsNotTricked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var out strings.Builder
		text := visibletest.Hostile().Draw(t, "text") + rapid.SampledFrom([]string{"\x1b[2J", "\u202e", "\r"}).
			Draw(t, "trick")
		if err := hostile(text).Text(&out); err != nil {
			t.Fatal(err)
		}
		if c, ok := obeyed(out.String()); ok {
			t.Fatalf("%U is printed as it is: %q", c, out.String())
		}
	})
}

// TestPageStandsByItself: no scripts, no links, nothing from elsewhere.
func TestPageStandsByItself(t *testing.T) {
	t.Parallel()
	out := page(t, sample())
	for _, foreign := range []string{"<script", "<link", "<img", "<iframe", "<a ", "href", "src=", "url(", "@import",
		"http:", "https:", "//", "javascript", "onload", "onclick"} {
		if strings.Contains(out, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
}

// obeyed returns a character that a terminal or a browser would obey or hide.
func obeyed(out string) (rune, bool) {
	for _, r := range out {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)) {
			return r, true
		}
	}
	return 0, false
}

func page(t interface{ Fatal(...any) }, r *Report) string {
	var out strings.Builder
	if err := r.HTML(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// elements are the names of the page's elements and attributes in order, read as a browser reads them: the style sheet
// is text.
func elements(t interface{ Fatal(...any) }, out string) (names []string) {
	d := xml.NewDecoder(strings.NewReader(out))
	d.Strict, d.AutoClose = false, []string{"meta"}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			name := start.Name.Local
			for _, a := range start.Attr {
				name += " " + a.Name.Local
			}
			names = append(names, name)
		}
	}
}
