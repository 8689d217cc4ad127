package httptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"countersign/agent"
	"countersign/agent/httptool"
)

func ExampleNew() {
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s with key %s", r.Method, body, r.Header.Get("Idempotency-Key"))
	}))
	defer bank.Close()

	tool, err := httptool.New(httptool.Config{
		Name:        "transfer_funds",
		Description: "Move money between two accounts.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"},"to":{"type":"string"}},
			"required":["amount","to"],"additionalProperties":false}`),
		Method: "POST",
		URL:    bank.URL + "/transfer",
	})
	if err != nil {
		log.Fatal(err)
	}
	tool.NeedsApproval = agent.AlwaysAsk

	fmt.Println(tool.Validate(json.RawMessage(`{"amount":"250"}`)))
	out, err := tool.Invoke(context.Background(), &agent.ToolCall{
		Arguments: json.RawMessage(`{"amount":250,"to":"Acme"}`), EffectID: "eff_7",
	})
	fmt.Println(out.Text, err)
	// Output:
	// /: the required member "to" is missing; /amount: must be a number, not a string
	// POST {"amount":250,"to":"Acme"} with key eff_7 <nil>
}
