package app_test

import (
	"encoding/json"
	"io"
	"testing"

	"countersign/internal/slackdev"
)

// input is a field of a form.
type input struct{ block, action string }

// inputs lists the fields of a form.
func inputs(v slackdev.View) []input {
	var blocks []struct {
		Type    string `json:"type"`
		BlockID string `json:"block_id"`
		Element struct {
			ActionID string `json:"action_id"`
		} `json:"element"`
	}
	if json.Unmarshal(v.Blocks, &blocks) != nil {
		return nil
	}
	var all []input
	for _, b := range blocks {
		if b.Type == "input" {
			all = append(all, input{b.BlockID, b.Element.ActionID})
		}
	}
	return all
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
