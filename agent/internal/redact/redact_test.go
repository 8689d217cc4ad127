package redact_test

import (
	"testing"

	"countersign/agent/internal/redact"
)

func TestReplacer(t *testing.T) {
	t.Parallel()
	s := make(redact.Secrets)
	s.Add("abc")
	s.Add("token1")
	s.Add("token1and2")
	s.AddHeader("Bearer hunter2 hunter3")
	s.AddExpanded("https://${HOST}/a/${TOKEN}?k=${KEY}", "https://h.example/a/inpath?k=inquery")
	s.AddExpanded("elsewhere ${X}", "not so written")
	s["https://long/inpath"] = "https://long/${TOKEN}"
	r := s.Replacer()
	for text, want := range map[string]string{
		"nothing to hide, abc":                      "nothing to hide, abc",
		"token1, token1and2":                        "…, …",
		"token1and3":                                "…and3",
		"Bearer hunter2 hunter3, hunter3, Bearer x": "…, …, Bearer x",
		"h.example inpath inquery":                  "… … …",
		"https://long/inpath failed":                "https://long/${TOKEN} failed",
		"not so written":                            "not so written",
	} {
		if got := r.Replace(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
