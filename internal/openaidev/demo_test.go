package openaidev_test

import (
	"strings"
	"testing"

	"countersign/internal/openaidev"
)

const invoice1042 = `{"number":"1042","to":"Acme","amount":1250.5,"currency":"EUR","status":"open"}`

func TestDemoPaysAnInvoice(t *testing.T) {
	t.Parallel()
	c := &conversation{t: t, handler: handler(t, openaidev.Demo()), tools: demoTools}
	c.say("<@U1> please pay invoice 1042")
	calls, _ := c.ask()
	if len(calls) != 1 || calls[0].Name != "lookup_invoice" || calls[0].Arguments != `{"number":"1042"}` {
		t.Fatalf("first turn: %+v", calls)
	}
	c.output(calls[0].CallID, invoice1042)
	calls, _ = c.ask()
	if len(calls) != 1 || calls[0].Name != "transfer_funds" ||
		calls[0].Arguments != `{"amount":1250.5,"to":"Acme","memo":"Invoice 1042"}` {
		t.Fatalf("second turn: %+v", calls)
	}
	c.output(calls[0].CallID, `{"reference":"TR-7"}`)
	calls, text := c.ask()
	if len(calls) != 0 || !strings.Contains(text, "TR-7") || !strings.Contains(text, "1250.5 to Acme") {
		t.Fatalf("last turn: %+v %q", calls, text)
	}
	c.say("and the other one?")
	calls, _ = c.ask()
	if len(calls) != 1 || calls[0].Arguments != `{"number":"1043"}` {
		t.Fatalf("follow-up: %+v", calls)
	}
}

func TestDemoTellsHowATransferWent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ output, want string }{
		{`{"reference":"TR-1"}`, "Done: transferred 1250.00 to Acme Corp, reference TR-1."},
		{`{}`, "Done: transferred 1250.00 to Acme Corp."},
		{"Tool execution was not approved.",
			"The transfer of 1250.00 to Acme Corp was rejected, so no money was moved."},
		{
			`This call was not carried out: a person rejected it. Their reason, as data: "wrong \"account\""`,
			`The transfer of 1250.00 to Acme Corp was rejected, so no money was moved. The reason: “wrong "account"”`,
		},
		{"Not approved. Reason: too much",
			"The transfer of 1250.00 to Acme Corp was rejected, so no money was moved. The reason: “too much”"},
		{
			"Not carried out: nobody answered in time. No person has rejected it.",
			"The transfer of 1250.00 to Acme Corp was not made as planned. I was told: “Not carried out: " +
				"nobody answered in time. No person has rejected it.”",
		},
		{"It is not known whether this was carried out.", "I am not sure about the transfer of 1250.00 to Acme Corp. " +
			"I was told: “It is not known whether this was carried out.”"},
		{"HTTP 500 Internal Server Error", "The transfer of 1250.00 to Acme Corp was not made as planned. " +
			"I was told: “HTTP 500 Internal Server Error”"},
	} {
		c := &conversation{t: t, handler: handler(t, openaidev.Demo()), tools: demoTools}
		c.say("Transfer $1,250.00 to Acme Corp for the new printers.")
		calls, _ := c.ask()
		if len(calls) != 1 || calls[0].Arguments != `{"amount":1250.00,"to":"Acme Corp","memo":"the new printers"}` {
			t.Fatalf("first turn: %+v", calls)
		}
		c.output(calls[0].CallID, tt.output)
		if _, text := c.ask(); text != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.output, text, tt.want)
		}
	}
}

func TestDemoPaysBothInvoicesInOneTurn(t *testing.T) {
	t.Parallel()
	c := &conversation{t: t, handler: handler(t, openaidev.Demo()), tools: demoTools}
	c.say("pay both invoices")
	calls, _ := c.ask()
	if len(calls) != 2 {
		t.Fatalf("lookups: %+v", calls)
	}
	for _, call := range calls {
		c.output(call.CallID, invoice1042)
	}
	calls, _ = c.ask()
	if len(calls) != 2 || calls[0].CallID == calls[1].CallID {
		t.Fatalf("transfers: %+v", calls)
	}
	c.output(calls[1].CallID, "Tool execution was not approved.")
	c.output(calls[0].CallID, `{"reference":"TR-8"}`)
	_, text := c.ask()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "TR-8") || !strings.Contains(text, "rejected") {
		t.Fatalf("answer: %q", text)
	}
}

func TestDemoSmallTalk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ say, call, text string }{
		{"what's the balance?", "get_balance", ""},
		{"what about invoice 1043", "lookup_invoice", ""},
		{"send 5 EUR to Bob", "transfer_funds", ""},
		{"hello", "", "transfer 250 to Acme"},
		{"and the other one?", "", "transfer 250 to Acme"},
	} {
		c := &conversation{t: t, handler: handler(t, openaidev.Demo()), tools: demoTools}
		c.say(tt.say)
		calls, text := c.ask()
		if tt.call == "" != (len(calls) == 0) || tt.call != "" && calls[0].Name != tt.call ||
			!strings.Contains(text, tt.text) {
			t.Errorf("%q: calls %+v, text %q", tt.say, calls, text)
		}
	}
	c := &conversation{t: t, handler: handler(t, openaidev.Demo()), tools: "[]"}
	c.say("what is the balance")
	if calls, text := c.ask(); len(calls) != 0 || !strings.Contains(text, "get_balance") {
		t.Errorf("without tools: %+v %q", calls, text)
	}
}
