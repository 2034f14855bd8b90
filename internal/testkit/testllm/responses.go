package testllm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

// checkResponses checks what OpenAI's Responses API requires of a request beyond its schema: the
// items of a conversation belong together, hidden reasoning returns as it was sent, and a strict
// schema is one. The request conforms to requests/responses.json.
func checkResponses(body map[string]any) error {
	if include, _ := body["include"].([]any); len(include) > 0 && strings.HasPrefix(body["model"].(string), "gpt-4") {
		return fmt.Errorf("responses: Encrypted content is not supported with this model")
	}
	tools, _ := body["tools"].([]any)
	for _, t := range tools {
		if tool := t.(map[string]any); tool["strict"] == true && !isStrict(tool["parameters"]) {
			return fmt.Errorf("responses: the schema of %v is not strict", tool["name"])
		}
	}
	if text, _ := body["text"].(map[string]any); text["format"] != nil {
		if format := text["format"].(map[string]any); format["strict"] == true && !isStrict(format["schema"]) {
			return fmt.Errorf("responses: the schema of the reply is not strict")
		}
	}
	return checkItems(body["input"].([]any))
}

// checkItems checks the items of a conversation.
func checkItems(input []any) error {
	open, ids := []string{}, map[string]bool{} // calls without a result, IDs of items
	reasoning := ""                            // reasoning whose item has not followed
	for _, x := range input {
		item := x.(map[string]any)
		id, _ := item["id"].(string)
		if id != "" && ids[id] {
			return fmt.Errorf("responses: Duplicate item found with id %s", id)
		}
		ids[id] = true
		kind, _ := item["type"].(string)
		call, _ := item["call_id"].(string)
		follows := kind == "function_call" || kind == "reasoning" || kind == "message" && item["role"] == "assistant"
		if reasoning != "" && (!follows || id == "") {
			return fmt.Errorf("responses: Item '%s' of type 'reasoning' was provided without its required following item", reasoning)
		}
		reasoning = ""
		switch kind {
		case "reasoning":
			if item["encrypted_content"] != modelserver.Encrypted(id) {
				return fmt.Errorf("responses: The encrypted content for item %s could not be verified", id)
			}
			reasoning = id
		case "function_call":
			open = append(open, call)
		case "function_call_output":
			i := slices.Index(open, call)
			if i < 0 {
				return fmt.Errorf("responses: No tool call found for function call output with call_id %s", call)
			}
			open = slices.Delete(open, i, i+1)
		}
	}
	switch {
	case reasoning != "":
		return fmt.Errorf("responses: Item '%s' of type 'reasoning' was provided without its required following item", reasoning)
	case len(open) > 0:
		return fmt.Errorf("responses: No tool output found for function call %s", open[0])
	}
	return nil
}

// isStrict reports whether each object in a schema requires all of its members and allows no
// others.
func isStrict(schema any) bool {
	switch s := schema.(type) {
	case []any:
		return !slices.ContainsFunc(s, func(x any) bool { return !isStrict(x) })
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		if s["type"] == "object" && (s["additionalProperties"] != false || len(required) != len(properties)) {
			return false
		}
		for k, v := range s {
			if k != "required" && k != "enum" && !isStrict(v) {
				return false
			}
		}
	}
	return true
}
