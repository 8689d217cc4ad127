package app_test

import (
	"net"
	"sync"
	"testing"

	"countersign/internal/openaidev"
)

// rules are what the model of the tests answers. An answer quotes the outputs it was given.
func rules() []openaidev.Rule {
	pay := func(arguments string) []openaidev.Call { return []openaidev.Call{{Name: "pay", Arguments: arguments}} }
	say := func(t *openaidev.Turn) openaidev.Reply {
		text := "answer:"
		for _, o := range t.Outputs {
			text += " [" + o.Text + "]"
		}
		return openaidev.Reply{Text: text}
	}
	calls := func(user string, round int, calls []openaidev.Call) openaidev.Rule {
		return openaidev.Rule{User: user, Round: round, Reply: openaidev.Reply{Calls: calls}}
	}
	both := append(pay(`{"amount":$1}`), pay(`{"amount":$2}`)...)
	return []openaidev.Rule{
		calls(`pay (\d+) and (\d+)`, 0, both),
		calls(`pay (\d+) then (\d+)`, 0, pay(`{"amount":$1}`)),
		calls(`pay (\d+) then (\d+)`, 1, pay(`{"amount":$2}`)),
		{User: `pay (\d+) reasonably`, Round: 0, Reply: openaidev.Reply{Reasoning: "Better to ask.",
			Calls: pay(`{"amount":$1,"to":"acct"}`)}},
		calls(`pay (\d+)`, 0, pay(`{"amount":$1,"to":"acct"}`)),
		calls(`pay twofold`, 0, pay(`{"amount":2,"amount":3}`)),
		calls(`pay brokenly`, 0, pay(`{"amount":`)),
		calls(`pay words`, 0, pay(`{"amount":"a lot"}`)),
		calls(`use magic`, 0, []openaidev.Call{{Name: "magic", Arguments: `{}`}}),
		calls(`what time`, 0, []openaidev.Call{{Name: "current_time", Arguments: `{"zone":"Europe/Berlin"}`}}),
		calls(`publish (\w+)`, 0, []openaidev.Call{{Name: "lib_publish_document",
			Arguments: `{"name":"$1","text":"All of it."}`}}),
		calls(`read (\w+)`, 0, []openaidev.Call{{Name: "lib_read_document", Arguments: `{"name":"$1"}`}}),
		{User: `stumble`, Round: 0, Reply: openaidev.Reply{Incomplete: "content_filter"}},
		{Round: openaidev.AnyRound, Func: say},
	}
}

// addresses are those that freeAddress has returned.
var addresses sync.Map

// freeAddress is an address that nobody listens on right now, and that no test was given before. It is one of its own
// where the system has such, so that nobody else is given the port while the program is not up.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.2:0")
		if err != nil {
			l, err = net.Listen("tcp", "127.0.0.1:0")
		}
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		if _, given := addresses.LoadOrStore(address, true); !given {
			return address
		}
	}
	t.Fatal("the system has no other addresses than those that were returned before")
	return ""
}
