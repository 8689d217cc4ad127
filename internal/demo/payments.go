package demo

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Transfer is money that was moved.
type Transfer struct {
	Reference string  `json:"reference"`
	Amount    float64 `json:"amount"`
	To        string  `json:"to"`
	Memo      string  `json:"memo"`
	// Key is the Idempotency-Key of the call, Calls how often it came.
	Key   string    `json:"-"`
	Calls int       `json:"-"`
	Body  string    `json:"-"` // exactly what was sent
	At    time.Time `json:"at"`
}

type invoice struct {
	Number   string  `json:"number"`
	To       string  `json:"to"`
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
	Status   string  `json:"status"`
}

// Payments is a payments service with one account. It moves money once per Idempotency-Key, and refuses whoever does
// not know its token.
type Payments struct {
	token    string
	listener net.Listener
	server   *http.Server

	mu       sync.Mutex
	balance  float64
	invoices []*invoice
	ledger   []*Transfer
}

// StartPayments serves on a free port of this machine.
func StartPayments() (*Payments, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("payments service: %w", err)
	}
	p := &Payments{
		token: rand.Text(), listener: l, balance: 10_000,
		invoices: []*invoice{
			{"1042", "Acme Ltd", 250, "EUR", "open"},
			{"1043", "Globex", 980.5, "EUR", "open"},
			{"1044", "Initech", 120, "EUR", "open"},
			{"1045", "Umbrella", 64.2, "EUR", "open"},
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /balance", p.authorized(p.getBalance))
	mux.HandleFunc("GET /invoice", p.authorized(p.getInvoice))
	mux.HandleFunc("POST /transfer", p.authorized(p.transfer))
	mux.HandleFunc("GET /{$}", p.page)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go p.server.Serve(l) // until Close
	return p, nil
}

// URL is where the service is, without a slash at its end.
func (p *Payments) URL() string { return "http://" + p.listener.Addr().String() }

// Token is what callers must know.
func (p *Payments) Token() string { return p.token }

// Close ends the service.
func (p *Payments) Close() error { return p.server.Close() }

// Ledger lists the transfers in their order.
func (p *Payments) Ledger() []Transfer {
	p.mu.Lock()
	defer p.mu.Unlock()
	ledger := make([]Transfer, len(p.ledger))
	for i, t := range p.ledger {
		ledger[i] = *t
	}
	return ledger
}

func (p *Payments) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+p.token {
			http.Error(w, "unknown caller", http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

func (p *Payments) getBalance(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"account": r.FormValue("account"), "balance": p.balance, "currency": "EUR"})
}

func (p *Payments) getInvoice(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.invoices, func(i *invoice) bool { return i.Number == r.FormValue("number") })
	if i < 0 {
		answer(w, http.StatusNotFound, map[string]any{"error": "there is no such invoice"})
		return
	}
	answer(w, http.StatusOK, p.invoices[i])
}

func (p *Payments) transfer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	var t Transfer
	if err != nil || json.Unmarshal(body, &t) != nil || t.Amount <= 0 || t.To == "" {
		answer(w, http.StatusBadRequest, map[string]any{"error": "a transfer has an amount above 0 and a payee"})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Key, t.Body, t.Calls, t.At = r.Header.Get("Idempotency-Key"), string(body), 1, time.Now()
	if done := p.known(t.Key); done != nil {
		done.Calls++
		answer(w, http.StatusOK, done)
		return
	}
	if t.Amount > p.balance {
		answer(w, http.StatusConflict, map[string]any{"error": "the account does not hold that much"})
		return
	}
	p.book(&t)
	answer(w, http.StatusOK, &t)
}

// known returns the transfer of an earlier call with the key. Calls without a key are never the same.
func (p *Payments) known(key string) *Transfer {
	i := slices.IndexFunc(p.ledger, func(t *Transfer) bool { return t.Key == key })
	if key == "" || i < 0 {
		return nil
	}
	return p.ledger[i]
}

func (p *Payments) book(t *Transfer) {
	t.Reference = fmt.Sprintf("TR-%04d", len(p.ledger)+1)
	p.balance -= t.Amount
	p.ledger = append(p.ledger, t)
	for _, i := range p.invoices {
		if i.To == t.To && i.Amount == t.Amount {
			i.Status = "paid"
		}
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the caller is gone
}

const (
	ledgerHead = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2"><title>Ledger</title>
<style>body{font:16px/1.5 system-ui;margin:2rem;max-width:50rem}table{border-collapse:collapse;width:100%%}
td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd}td.n{text-align:right}</style>
<h1>Ledger of the payments service</h1>
<p>Balance: <b>%.2f EUR</b></p>
`
	ledgerColumns = "<table><tr><th>Reference<th>To<th>Memo<th>EUR</tr>\n"
	ledgerRow     = "<tr><td>%s<td>%s<td>%s<td class=n>%.2f</tr>\n"
)

// page shows the ledger to people, who need no token to look.
func (p *Payments) page(w http.ResponseWriter, _ *http.Request) {
	ledger := p.Ledger()
	p.mu.Lock()
	balance := p.balance
	p.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, ledgerHead, balance)
	if len(ledger) == 0 {
		b.WriteString("<p>No transfers yet.</p>")
	} else {
		b.WriteString(ledgerColumns)
	}
	for _, t := range ledger {
		fmt.Fprintf(&b, ledgerRow, t.Reference, html.EscapeString(t.To), html.EscapeString(t.Memo), t.Amount)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, b.String()) // an error means that the reader is gone
}
