package openaidev

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Demo returns the script of the demonstration: an agent that pays bills. It expects three tools:
//
//	get_balance     {"account": string}                              {"account", "balance", "currency"}
//	lookup_invoice  {"number": string}                               {"number", "to", "amount", "currency", "status"}
//	transfer_funds  {"amount": number, "to": string, "memo": string} {"reference", …}
//
// and understands "transfer 250 to Acme", "pay invoice 1042", "pay both invoices" (1042 and 1043), "what about invoice
// 1042?", "what is the balance?" and, in the same thread, "and the other one?". Anything else gets a list of these. An
// output that is no JSON object is taken for a refusal and quoted, so the reason of a rejection reaches the answer.
func Demo() Script {
	return Script{Rules: []Rule{{Round: AnyRound, Func: demoReply}}}
}

const demoHelp = `I move money for the team. Try one of these:
• transfer 250 to Acme
• pay invoice 1042
• pay both invoices
• what about invoice 1043?
• what is the balance?
Transfers wait for somebody's approval.`

var (
	demoTransfer = regexp.MustCompile(`(?i)\b(?:transfer|send|pay)\s+` +
		`[$€£]?\s*([0-9][0-9,]*(?:\.[0-9]+)?)\s*[$€£]?(?:\s*(?:eur|usd|euros?|dollars?))?` +
		`\s+to\s+([^\s.,;!?][^.,;!?\n]*?)(?:\s+for\s+([^\n.;!?]+?))?\s*(?:[.,;!?\n]|$)`)
	demoInvoice  = regexp.MustCompile(`(?i)\b(?:invoices?|bills?)\b|#[0-9]{3,}`)
	demoNumber   = regexp.MustCompile(`\b[0-9]{3,8}\b`)
	demoBoth     = regexp.MustCompile(`(?i)\b(?:both|all|the (?:open )?invoices)\b`)
	demoPay      = regexp.MustCompile(`(?i)\b(?:pay|settle)\b`)
	demoOther    = regexp.MustCompile(`(?i)\bother\b`)
	demoBalance  = regexp.MustCompile(`(?i)\b(?:balance|how much (?:money )?(?:do we have|is left))\b`)
	demoNobody   = regexp.MustCompile(`(?i)nobody|no person`)
	demoUnknown  = regexp.MustCompile(`(?i)\b(?:unknown|not known)\b`)
	demoRejected = regexp.MustCompile(`(?i)not approved|reject|denied|declined`)
	demoReason   = regexp.MustCompile(`(?i)(?:reason|words)(?:, as data)?: *("(?:[^"\\]|\\.)*"|.+)`)
)

var demoInvoices = []string{"1042", "1043"}

// request is what the user wants, as far as the demo understands it.
type request struct {
	invoices []string
	pay      bool
}

func demoReply(t *Turn) Reply {
	if m := demoTransfer.FindStringSubmatch(t.User); m != nil {
		return demoTransferReply(t, m)
	}
	if want, ok := invoiceRequest(t); ok {
		return demoInvoiceReply(t, want)
	}
	if demoBalance.MatchString(t.User) {
		return demoBalanceReply(t)
	}
	return Reply{Text: demoHelp}
}

// invoiceRequest finds out which invoices are meant; "the other one" is the one not spoken of before.
func invoiceRequest(t *Turn) (request, bool) {
	want := request{pay: demoPay.MatchString(t.User)}
	switch {
	case demoInvoice.MatchString(t.User) && demoNumber.MatchString(t.User):
		want.invoices = demoNumber.FindAllString(t.User, -1)
	case demoBoth.MatchString(t.User) && (demoInvoice.MatchString(t.User) || want.pay):
		want.invoices = slices.Clone(demoInvoices)
	case demoOther.MatchString(t.User):
		want.invoices = otherInvoices(t.Earlier)
		want.pay = want.pay || slices.ContainsFunc(t.Earlier, demoPay.MatchString)
	}
	slices.Sort(want.invoices)
	want.invoices = slices.Compact(want.invoices)
	return want, len(want.invoices) > 0
}

func otherInvoices(earlier []string) []string {
	said := demoNumber.FindAllString(strings.Join(earlier, "\n"), -1)
	if len(said) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(demoInvoices), func(n string) bool { return slices.Contains(said, n) })
}

func demoTransferReply(t *Turn, m []string) Reply {
	if t.Round > 0 {
		return Reply{Text: transferResults(t.Newest())}
	}
	amount, to, memo := strings.ReplaceAll(m[1], ",", ""), strings.TrimSpace(m[2]), strings.TrimSpace(m[3])
	if memo == "" {
		memo = "Requested in chat"
	}
	return t.call(Reply{Calls: []Call{transferCall(number(amount), to, memo)}})
}

func transferCall(amount, to, memo string) Call {
	return Call{
		Name: "transfer_funds", Arguments: fmt.Sprintf(`{"amount":%s,"to":%s,"memo":%s}`, amount, text(to), text(memo)),
	}
}

// number makes a JSON number of digits a person wrote.
func number(digits string) string {
	n := strings.TrimLeft(digits, "0")
	if n == "" || n[0] == '.' {
		n = "0" + n
	}
	return n
}

func text(s string) string { return `"` + inString(s) + `"` }

func demoInvoiceReply(t *Turn, want request) Reply {
	switch {
	case t.Round == 0:
		r := Reply{Reasoning: "The amount and the payee are on the invoice, so it has to be looked up first."}
		for _, n := range want.invoices {
			r.Calls = append(r.Calls, Call{Name: "lookup_invoice", Arguments: `{"number":` + text(n) + `}`})
		}
		return t.call(r)
	case t.Round == 1 && want.pay:
		return payInvoices(t)
	case t.Round == 1:
		return Reply{Text: describeInvoices(t.Newest())}
	default:
		return Reply{Text: transferResults(t.Newest())}
	}
}

// payInvoices asks for a transfer for each open invoice, all in one turn.
func payInvoices(t *Turn) Reply {
	var r Reply
	for _, o := range t.Newest() {
		if o.Field("amount") == "" || strings.EqualFold(o.Field("status"), "paid") {
			continue
		}
		r.Calls = append(r.Calls, transferCall(o.Field("amount"), o.Field("to"), "Invoice "+o.Argument("number")))
	}
	if len(r.Calls) == 0 {
		return Reply{Text: "There is nothing to pay. " + describeInvoices(t.Newest())}
	}
	return t.call(r)
}

func describeInvoices(outputs []Output) string {
	var lines []string
	for _, o := range outputs {
		if o.Field("amount") == "" {
			lines = append(lines, fmt.Sprintf("I could not look up invoice %s: %s", o.Argument("number"), cite(o.Text)))
			continue
		}
		lines = append(lines, fmt.Sprintf("Invoice %s from %s is %s and amounts to %s.",
			o.Argument("number"), o.Field("to"), o.Field("status"), money(o.Field("amount"), o.Field("currency"))))
	}
	return strings.Join(lines, "\n")
}

func transferResults(outputs []Output) string {
	var lines []string
	for _, o := range outputs {
		lines = append(lines, transferResult(o))
	}
	return strings.Join(lines, "\n")
}

// transferResult tells how a transfer went. What is no JSON object was written by the runtime or by people.
func transferResult(o Output) string {
	what := fmt.Sprintf("%s to %s", o.Argument("amount"), o.Argument("to"))
	switch {
	case o.IsObject() && o.Field("reference") != "":
		return fmt.Sprintf("Done: transferred %s, reference %s.", what, o.Field("reference"))
	case o.IsObject():
		return fmt.Sprintf("Done: transferred %s.", what)
	case demoUnknown.MatchString(o.Text):
		return fmt.Sprintf("I am not sure about the transfer of %s. I was told: %s", what, cite(o.Text))
	case demoRejected.MatchString(o.Text) && !demoNobody.MatchString(o.Text):
		return fmt.Sprintf("The transfer of %s was rejected, so no money was moved.%s", what, reason(o.Text))
	default:
		return fmt.Sprintf("The transfer of %s was not made as planned. I was told: %s", what, cite(o.Text))
	}
}

// reason quotes the reason of a rejection, if one was given.
func reason(text string) string {
	m := demoReason.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	var given string
	if json.Unmarshal([]byte(m[1]), &given) != nil {
		given = m[1]
	}
	return " The reason: " + cite(given)
}

func demoBalanceReply(t *Turn) Reply {
	if t.Round == 0 {
		return t.call(Reply{Calls: []Call{{Name: "get_balance", Arguments: `{"account":"operations"}`}}})
	}
	o := t.Output()
	if o.Field("balance") == "" {
		return Reply{Text: "I could not read the balance: " + cite(o.Text)}
	}
	balance := money(o.Field("balance"), o.Field("currency"))
	return Reply{Text: fmt.Sprintf("The balance of the %s account is %s.", o.Argument("account"), balance)}
}

func money(amount, currency string) string { return strings.TrimSpace(amount + " " + currency) }

// cite quotes at most a few lines of an output.
func cite(s string) string {
	if r := []rune(s); len(r) > 400 {
		s = string(r[:400]) + "…"
	}
	return "“" + strings.TrimSpace(s) + "”"
}

// call returns r, or says which of its tools the agent does not have.
func (t *Turn) call(r Reply) Reply {
	for _, c := range r.Calls {
		if !slices.Contains(t.Tools, c.Name) {
			return Reply{Text: "I would need a tool named " + c.Name + " for that, and I have none."}
		}
	}
	return r
}
