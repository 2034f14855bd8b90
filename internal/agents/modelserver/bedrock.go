package modelserver

import (
	"encoding/binary"
	"hash/crc32"
)

// bedrockContent returns the blocks of a reply of the Converse API.
func (r *Reply) bedrockContent(body map[string]any) []object {
	content := []object{}
	if r.JSON != nil {
		if name := bedrockForced(body); name != "" {
			return append(content, object{"toolUse": object{"toolUseId": "tooluse_1", "name": name, "input": r.JSON}})
		}
	}
	if text := r.text(); text != "" {
		content = append(content, object{"text": text})
	}
	for _, c := range r.ToolCalls {
		content = append(content, object{"toolUse": object{"toolUseId": c.ID, "name": c.Name, "input": c.Args}})
	}
	return content
}

// bedrockForced returns the last tool if the model must call one, otherwise "".
func bedrockForced(body map[string]any) string {
	config, _ := body["toolConfig"].(map[string]any)
	if config["toolChoice"] == nil {
		return ""
	}
	name := ""
	for _, t := range config["tools"].([]any) {
		if spec, ok := t.(map[string]any)["toolSpec"].(map[string]any); ok { // others are marks
			name = spec["name"].(string)
		}
	}
	return name
}

func (r *Reply) bedrockStop(content []object) string {
	if r.Stop != "" {
		return r.Stop
	}
	if len(content) > 0 && content[len(content)-1]["toolUse"] != nil {
		return "tool_use"
	}
	return "end_turn"
}

func (r *Reply) bedrockUsage() object {
	usage := object{"inputTokens": r.TokensIn - r.Cached - r.CacheWrite, "outputTokens": r.TokensOut, "totalTokens": r.TokensIn + r.TokensOut}
	if r.Parts != (Parts{}) {
		usage["cacheReadInputTokens"], usage["cacheWriteInputTokens"] = r.Cached, r.CacheWrite
		usage["cacheDetails"] = []any{object{"ttl": "5m", "inputTokens": r.CacheWrite - r.CacheWrite1h}, object{"ttl": "1h", "inputTokens": r.CacheWrite1h}}
	}
	return usage
}

func (r *Reply) bedrock(body map[string]any) any {
	content := r.bedrockContent(body)
	return object{"output": object{"message": object{"role": "assistant", "content": content}}, "stopReason": r.bedrockStop(content),
		"usage": r.bedrockUsage(), "metrics": object{"latencyMs": 1}}
}

// bedrockFrame returns a message of AWS's event stream.
func bedrockFrame(kind, name string, payload any) string {
	var headers []byte
	for _, h := range [][2]string{{":event-type", name}, {":content-type", "application/json"}, {":message-type", kind}} {
		if kind == "exception" && h[0] == ":event-type" {
			h[0] = ":exception-type"
		}
		headers = append(append(headers, byte(len(h[0]))), h[0]...)
		headers = append(binary.BigEndian.AppendUint16(append(headers, 7), uint16(len(h[1]))), h[1]...)
	}
	data := mustMarshal(payload)
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(data)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(headers)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, headers...), data...)
	return string(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out)))
}

func bedrockEvent(name string, payload any) string { return bedrockFrame("event", name, payload) }

func bedrockPiece(text string) string {
	return bedrockEvent("contentBlockDelta", object{"contentBlockIndex": 0, "delta": object{"text": text}})
}

func (r *Reply) bedrockEvents(body map[string]any) []string {
	out := []string{bedrockEvent("messageStart", object{"role": "assistant"})}
	content := r.bedrockContent(body)
	for i, b := range content {
		if use, ok := b["toolUse"].(object); ok {
			out = append(out, bedrockEvent("contentBlockStart", object{"contentBlockIndex": i, "start": object{"toolUse": object{"toolUseId": use["toolUseId"], "name": use["name"]}}}))
			text := mustMarshal(use["input"])
			for _, p := range []string{"", text[:len(text)/2], text[len(text)/2:]} {
				out = append(out, bedrockEvent("contentBlockDelta", object{"contentBlockIndex": i, "delta": object{"toolUse": object{"input": p}}}))
			}
		} else {
			for _, p := range r.pieces(r.text()) {
				out = append(out, bedrockEvent("contentBlockDelta", object{"contentBlockIndex": i, "delta": object{"text": p}}))
			}
		}
		out = append(out, bedrockEvent("contentBlockStop", object{"contentBlockIndex": i}))
	}
	return append(out, bedrockEvent("messageStop", object{"stopReason": r.bedrockStop(content)}),
		bedrockEvent("metadata", object{"usage": r.bedrockUsage(), "metrics": object{"latencyMs": 1}}))
}

// BedrockException returns an exception in a stream of the Converse API.
func BedrockException(name, message string) string {
	return bedrockFrame("exception", name, object{"message": message})
}
