package boltstore

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/tools/txtar"

	"countersign/agent"
	"countersign/agent/scripted"
)

// frozenScripts are what the models of the frozen file's agents say, by agent. Each model finds its place in its script
// from the conversation, so a run that was saved in the file goes on where it stood.
const frozenScripts = "testdata/format2.scripts.txt"

// frozenAgents returns the agents with which testdata/format2.db.gz was made. Names, descriptions, versions, schemas
// and bindings of their tools are parts of the digests in the file: whoever changes one of them makes every request
// in it stale. done is told which tool ran.
func frozenAgents(t *testing.T, done func(tool string)) map[string]*agent.Agent {
	models := frozenModels(t)
	pay, note := frozenPayments(done)
	finance := &agent.Agent{Name: "finance", Instructions: "You pay what is owed.", Model: models["finance"],
		Tools: []agent.Tool{pay}}
	tools := map[string][]agent.Tool{
		"ops":    {pay, note},
		"broken": {note},
		"lead":   {finance.AsTool("ask_finance", "Ask the finance agent.")},
		"treasury": {gated[struct {
			To     string `json:"to"`
			Amount int    `json:"amount"`
		}]("wire", "Transfer euros between banks.", done)},
		"operator": {gated[struct {
			Host string `json:"host"`
		}]("restart", "Restart a host.", done)},
		"cashier": {gated[struct {
			Card  string `json:"card"`
			Cents int    `json:"cents"`
		}]("charge", "Charge a card.", done)},
		"janitor": {gated[struct {
			Table string `json:"table"`
		}]("drop", "Drop a table.", done)},
		"hasty": {gated[struct{}]("quick", "Needs an answer within a second.", done)},
		"tuner": {frozenTune(done)},
		"postman": {gated[struct {
			To string `json:"to"`
		}]("post", "Post a letter.", done)},
		"release": {frozenDeploy()},
	}
	all := make(map[string]*agent.Agent)
	for name, list := range tools {
		all[name] = &agent.Agent{Name: name, Instructions: "You are " + name + ".", Model: models[name], Tools: list}
	}
	return all
}

// gated returns a tool that asks for every call.
func gated[In any](name, description string, done func(tool string)) agent.Tool {
	tool := agent.NewTool(name, description, func(_ context.Context, in In) (string, error) {
		done(name)
		return fmt.Sprintf("%s %+v", name, in), nil
	})
	tool.NeedsApproval = agent.AlwaysAsk
	return tool
}

func frozenPayments(done func(tool string)) (pay, note agent.Tool) {
	pay = gated[struct {
		To     string  `json:"to"`
		Amount float64 `json:"amount"`
		Memo   string  `json:"memo,omitempty"`
	}]("pay", "Pay an amount of euros to somebody.", done)
	pay.Version, pay.Attributes = "3", []string{"POST https://bank.example/pay"}
	note = gated[struct {
		Text string `json:"text"`
	}]("note", "Write a note.", done)
	note.NeedsApproval = nil
	return pay, note
}

// frozenTune is the tool as it is after its change; the stale request in the file is of version "1".
func frozenTune(done func(tool string)) agent.Tool {
	tune := gated[struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}]("tune", "Set a parameter.", done)
	tune.Version = "2"
	return tune
}

// frozenDeploy is a tool that somebody outside carries out.
func frozenDeploy() agent.Tool {
	deploy := agent.NewTool("deploy", "Deploy a version.", func(context.Context, struct {
		Ref string `json:"ref"`
	}) (string, error) {
		return "", nil
	})
	deploy.Kind, deploy.External, deploy.Invoke = agent.KindExternal, true, nil
	return deploy
}

// frozenModels reads the scripts: each begins with a line "agent NAME".
func frozenModels(t *testing.T) map[string]*scripted.Model {
	models := make(map[string]*scripted.Model)
	for name, script := range readScripts(t, frozenScripts) {
		var steps []string
		for _, f := range txtar.Parse([]byte(script)).Files {
			steps = append(steps, string(f.Data))
		}
		m, err := scripted.Parse(steps...)
		if err != nil {
			t.Fatal(err)
		}
		models[name] = m
	}
	return models
}
