package demo_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"countersign/internal/demo"
)

// TestLedgerPage shows what callers wrote as text.
func TestLedgerPage(t *testing.T) {
	t.Parallel()
	p, err := demo.StartPayments()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	page := fetch(t, p.URL())
	if !strings.Contains(page, "10000.00 EUR") || !strings.Contains(page, "No transfers yet") {
		t.Errorf("before: %s", page)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/transfer",
		strings.NewReader(`{"amount":12.5,"to":"Acme & Sons","memo":"<script>"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("transfer: %v %v", resp, err)
	}
	resp.Body.Close()
	page = fetch(t, p.URL())
	for _, want := range []string{
		"9987.50 EUR", "<tr><td>TR-0001<td>Acme &amp; Sons<td>&lt;script&gt;<td class=n>12.50</tr>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
