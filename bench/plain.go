package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"countersign/agent"
	"countersign/agent/openaimodel"
)

// benchPlain compares runs that nobody is asked about: two model calls and one tool call, no store.
func benchPlain(ctx context.Context, o options) error {
	url, stop, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer stop()
	total := o.scale(4000, 100)
	var all []contender
	for _, name := range []string{ourPlain, ourChatPlain, sdkPlain, floorPlain} {
		c, err := builtIn(name, url, total, false)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	if o.goPeers != "" {
		all = append(all, contender{command: []string{o.goPeers, "plain", url}, total: total})
	}
	for _, width := range []int{16, 64} {
		results, err := compete(ctx, o, width, all)
		if err != nil {
			return err
		}
		printFigures(fmt.Sprintf("%d at once", width), results...)
		printShares(results, nil)
	}
	return nil
}

// plainRig is the library without a store and without questions.
type plainRig struct {
	agent   *agent.Agent
	effects atomic.Int64
}

func newPlainRig(url string, api openaimodel.API) (*plainRig, error) {
	rig := new(plainRig)
	a, err := benchAgent(url, api, &rig.effects)
	rig.agent = a
	return rig, err
}

func (p *plainRig) job(ctx context.Context, i int) error {
	var r agent.Runner
	res, err := r.Run(ctx, p.agent, []agent.Item{agent.UserMessage("transfer 250 to acme")}, agent.RunOptions{})
	if err == nil && res.FinalOutput == "" {
		err = fmt.Errorf("run %d has no answer", i)
	}
	return err
}

func (p *plainRig) effectCount() int { return int(p.effects.Load()) }
func (*plainRig) close() error       { return nil }

// sdkRig is the same run in a loop by hand over OpenAI's client: what any library costs at least that is built on it as
// it is meant to be used.
type sdkRig struct {
	client  openai.Client
	effects atomic.Int64
}

func newSDKRig(url string) *sdkRig {
	client := newFloorModel(url).client
	return &sdkRig{client: openai.NewClient(
		option.WithBaseURL(url), option.WithAPIKey("bench"), option.WithHTTPClient(client))}
}

var sdkTool = responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
	Name: "transfer", Description: param.NewOpt("Move money between two accounts."), Strict: param.NewOpt(false),
	Parameters: map[string]any{
		"type": "object",
		"properties": map[string]any{
			"amount": map[string]any{"type": "number"}, "to": map[string]any{"type": "string"},
		},
		"required": []string{"amount", "to"}, "additionalProperties": false,
	},
}}

func (s *sdkRig) job(ctx context.Context, _ int) error {
	input := responses.ResponseInputParam{
		responses.ResponseInputItemParamOfMessage("transfer 250 to acme", responses.EasyInputMessageRoleUser),
	}
	for range 2 {
		res, err := s.client.Responses.New(ctx, responses.ResponseNewParams{
			Model: "bench-model", Instructions: param.NewOpt("You move money."),
			Tools: []responses.ToolUnionParam{sdkTool},
			Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input},
		})
		if err != nil {
			return err
		}
		if res.OutputText() != "" {
			return nil
		}
		for _, item := range res.Output {
			if item.Type != "function_call" {
				continue
			}
			call := item.AsFunctionCall()
			var in transferInput
			if err := json.Unmarshal([]byte(call.Arguments), &in); err != nil {
				return err
			}
			s.effects.Add(1)
			answer := responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(call.CallID)}
			answer.Output.OfString = param.NewOpt("transferred")
			input = append(input,
				responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.CallID, call.Name),
				responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &answer})
		}
	}
	return errors.New("no answer")
}

func (s *sdkRig) effectCount() int { return int(s.effects.Load()) }
func (*sdkRig) close() error       { return nil }
