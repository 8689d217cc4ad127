package openaidev

import (
	"encoding/json"
	"fmt"
	"slices"
)

// checkReasoning makes sure that reasoning items come back whole and in their place.
func checkReasoning(b *body) *apiError {
	for i, it := range b.items {
		if it.Type != typeReasoning {
			continue
		}
		if i >= b.kept && it.EncryptedContent == "" && (b.Store != nil && !*b.Store) {
			e := badRequest("input", "",
				"Item with id '%s' not found. Items are not persisted when `store` is set to false.", it.ID)
			e.status = 404
			return e
		}
		if it.EncryptedContent != "" && it.EncryptedContent != encrypted(it.ID) {
			return badRequest("", "invalid_encrypted_content",
				"The encrypted content for item %s could not be verified.", it.ID)
		}
		if i+1 == len(b.items) || !fromModel(b.items[i+1]) {
			return badRequest("input", "",
				"Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
		}
	}
	return nil
}

// fromModel reports whether a model can have made an item, rather than its user.
func fromModel(it item) bool {
	_, output := callOf[it.Type]
	return !output && it.Type != typeMCPResponse && (it.Type != typeMessage || it.Role == "assistant")
}

// checkItems refuses unknown types, repeated ids and messages whose parts do not suit their role.
func checkItems(b *body, extra []string) *apiError {
	ids := make(map[string]bool)
	for i, it := range b.items {
		at := b.at(i)
		if !slices.Contains(itemTypes, it.Type) && !slices.Contains(extra, it.Type) {
			return badRequest(at, "invalid_value",
				"Invalid value: '%s'. Supported values are: %s.", it.Type, list(itemTypes))
		}
		if it.ID != "" && ids[it.ID] {
			return badRequest("input", "",
				"Duplicate item found with id %s. Remove duplicate items from your input and try again.", it.ID)
		}
		ids[it.ID] = true
		if it.Type == typeMessage {
			if err := checkMessage(at, it); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkMessage(at string, it item) *apiError {
	if !slices.Contains([]string{"user", "assistant", "system", "developer"}, it.Role) {
		return badRequest(at+".role", "invalid_value",
			"Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)
	}
	var text string
	if json.Unmarshal(it.Content, &text) == nil {
		return nil
	}
	var parts []part
	if len(it.Content) == 0 || json.Unmarshal(it.Content, &parts) != nil {
		return badRequest(at+".content", "invalid_type",
			"Invalid type for '%s.content': expected a string or an array.", at)
	}
	want := []string{"input_text", "input_image", "input_file"}
	if it.Role == "assistant" {
		want = []string{"output_text", "refusal"}
	}
	for j, p := range parts {
		if !slices.Contains(want, p.Type) {
			return badRequest(fmt.Sprintf("%s.content[%d]", at, j), "invalid_value",
				"Invalid value: '%s'. Supported values are: %s.", p.Type, list(want))
		}
	}
	return nil
}
