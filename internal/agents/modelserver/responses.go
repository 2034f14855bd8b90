package modelserver

import (
	"fmt"
	"maps"
)

// responsesItems returns the reply's items in OpenAI's Responses API.
func (r *Reply) responsesItems() []object {
	var items []object
	if r.Thought != "" {
		items = append(items, object{"type": "reasoning", "id": "rs_1", "content": []any{}, "encrypted_content": nil,
			"summary": []any{object{"type": "summary_text", "text": r.Thought}}})
	}
	if text := r.text(); text != "" {
		items = append(items, object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": text, "annotations": []any{}}}})
	}
	for i, c := range r.ToolCalls {
		item := object{"type": "function_call", "id": fmt.Sprintf("fc_%d", i), "call_id": c.ID, "name": c.Name, "arguments": c.arguments(), "status": "completed"}
		if c.Namespace != "" {
			item["namespace"] = c.Namespace
		}
		items = append(items, item)
	}
	return items
}

func (r *Reply) responses(body map[string]any) any {
	return object{"id": "resp_1", "object": "response", "model": body["model"], "status": "completed", "output": r.responsesItems(),
		"usage": object{"input_tokens": r.TokensIn, "input_tokens_details": object{"cached_tokens": r.Cached, "cache_write_tokens": r.CacheWrite},
			"output_tokens": r.TokensOut, "output_tokens_details": object{"reasoning_tokens": r.Reasoning}, "total_tokens": r.TokensIn + r.TokensOut}}
}

func responsesEvent(kind string, o object) string {
	o["type"] = kind
	return "event: " + kind + "\ndata: " + mustMarshal(o) + "\n\n"
}

func responsesPiece(text string) string {
	return responsesEvent("response.output_text.delta", object{"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text})
}

func (r *Reply) responsesEvents(body map[string]any) []string {
	out := []string{responsesEvent("response.created", object{"response": object{"id": "resp_1", "object": "response", "status": "in_progress", "output": []any{}}})}
	for i, item := range r.responsesItems() {
		begun := maps.Clone(item)
		switch item["type"] {
		case "message":
			begun["content"] = []any{}
		case "reasoning":
			begun["summary"] = []any{}
		case "function_call":
			begun["arguments"] = ""
		}
		out = append(out, responsesEvent("response.output_item.added", object{"output_index": i, "item": begun}))
		switch item["type"] {
		case "message":
			for _, p := range r.pieces(r.text()) {
				out = append(out, responsesPiece(p))
			}
		case "reasoning":
			out = append(out,
				responsesEvent("response.reasoning_summary_part.added", object{"item_id": "rs_1", "output_index": i, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}}),
				responsesEvent("response.reasoning_summary_text.delta", object{"item_id": "rs_1", "output_index": i, "summary_index": 0, "delta": r.Thought}),
				responsesEvent("response.reasoning_summary_text.done", object{"item_id": "rs_1", "output_index": i, "summary_index": 0, "text": r.Thought}))
		}
		out = append(out, responsesEvent("response.output_item.done", object{"output_index": i, "item": item}))
	}
	return append(out, responsesEvent("response.completed", object{"response": r.responses(body)}))
}
