package modelserver

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
)

// Encrypted returns the encrypted content of the reasoning item with an ID.
func Encrypted(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "gAAAAA" + base64.StdEncoding.EncodeToString(sum[:])
}

// countItems returns the number of items of a type in the input of a request, from which the IDs of
// new items follow.
func countItems(body map[string]any, kind string) (n int) {
	input, _ := body["input"].([]any)
	for _, x := range input {
		if item, ok := x.(map[string]any); ok && item["type"] == kind {
			n++
		}
	}
	return n
}

// responsesItems returns the reply's items in OpenAI's Responses API.
func (r *Reply) responsesItems(body map[string]any) []object {
	items := []object{}
	if r.Thought != "" {
		id := fmt.Sprintf("rs_%d", countItems(body, "reasoning")+1)
		item := object{"type": "reasoning", "id": id, "content": []any{}, "encrypted_content": nil,
			"summary": []any{object{"type": "summary_text", "text": r.Thought}}}
		if include, _ := body["include"].([]any); slices.Contains(include, any("reasoning.encrypted_content")) {
			item["encrypted_content"] = Encrypted(id)
		}
		items = append(items, item)
	}
	var parts []any
	if text := r.text(); text != "" {
		parts = append(parts, object{"type": "output_text", "text": text, "annotations": []any{}})
	}
	if r.Refusal != "" {
		parts = append(parts, object{"type": "refusal", "refusal": r.Refusal})
	}
	if parts != nil {
		items = append(items, object{"type": "message", "id": fmt.Sprintf("msg_%d", countItems(body, "message")+1), "role": "assistant", "status": "completed", "content": parts})
	}
	first := countItems(body, "function_call")
	for i, c := range r.ToolCalls {
		item := object{"type": "function_call", "id": fmt.Sprintf("fc_%d", first+i), "call_id": c.ID, "name": c.Name, "arguments": c.arguments(), "status": "completed"}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		items = append(items, item)
	}
	return items
}

// responses returns a whole response. Stop is the reason for which it is incomplete.
func (r *Reply) responses(body map[string]any) any {
	out := object{"id": "resp_1", "object": "response", "model": body["model"], "status": "completed", "error": nil, "incomplete_details": nil, "output": r.responsesItems(body),
		"usage": object{"input_tokens": r.TokensIn, "input_tokens_details": object{"cached_tokens": r.Cached, "cache_write_tokens": r.CacheWrite},
			"output_tokens": r.TokensOut, "output_tokens_details": object{"reasoning_tokens": r.Reasoning}, "total_tokens": r.TokensIn + r.TokensOut}}
	if r.Tier != "" {
		out["service_tier"] = r.Tier
	}
	if r.Stop != "" {
		out["status"], out["incomplete_details"] = "incomplete", object{"reason": r.Stop}
	}
	return out
}

func responsesEvent(kind string, o object) string {
	o["type"] = kind
	return "event: " + kind + "\ndata: " + mustMarshal(o) + "\n\n"
}

func responsesPiece(text string) string { return responsesDelta(0, "msg_1", text) }

func responsesDelta(index int, id any, text string) string {
	return responsesEvent("response.output_text.delta", object{"item_id": id, "output_index": index, "content_index": 0, "delta": text})
}

func (r *Reply) responsesEvents(body map[string]any) []string {
	out := []string{responsesEvent("response.created", object{"response": object{"id": "resp_1", "object": "response", "model": body["model"], "status": "in_progress", "error": nil, "output": []any{}, "usage": nil}})}
	for i, item := range r.responsesItems(body) {
		begun := maps.Clone(item)
		switch item["type"] {
		case "message":
			begun["content"] = []any{}
		case "reasoning":
			begun["summary"] = []any{}
			if item["encrypted_content"] != nil {
				begun["encrypted_content"] = "gAAAAA" // incomplete until the item is done
			}
		case "function_call":
			begun["arguments"] = ""
		}
		out = append(out, responsesEvent("response.output_item.added", object{"output_index": i, "item": begun}))
		switch item["type"] {
		case "message":
			for _, p := range r.pieces(r.text()) {
				out = append(out, responsesDelta(i, item["id"], p))
			}
			if r.Refusal != "" {
				out = append(out, responsesEvent("response.refusal.delta", object{"item_id": item["id"], "output_index": i, "content_index": 0, "delta": r.Refusal}))
			}
		case "reasoning":
			out = append(out,
				responsesEvent("response.reasoning_summary_part.added", object{"item_id": item["id"], "output_index": i, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}}),
				responsesEvent("response.reasoning_summary_text.delta", object{"item_id": item["id"], "output_index": i, "summary_index": 0, "delta": r.Thought}),
				responsesEvent("response.reasoning_summary_text.done", object{"item_id": item["id"], "output_index": i, "summary_index": 0, "text": r.Thought}))
		case "function_call":
			out = append(out, responsesEvent("response.function_call_arguments.delta", object{"item_id": item["id"], "output_index": i, "delta": item["arguments"]}),
				responsesEvent("response.function_call_arguments.done", object{"item_id": item["id"], "output_index": i, "arguments": item["arguments"]}))
		}
		out = append(out, responsesEvent("response.output_item.done", object{"output_index": i, "item": item}))
	}
	last := "response.completed"
	if r.Stop != "" {
		last = "response.incomplete"
	}
	return append(out, responsesEvent(last, object{"response": r.responses(body)}))
}
