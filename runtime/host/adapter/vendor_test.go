package adapter

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// talked passes the lines to the adapter and returns the result of each. A line with the prefix ">
// " is one of Concerto's messages; any other line comes from the agent.
func talked(t *testing.T, a Adapter, lines ...string) (out []string) {
	t.Helper()
	for _, l := range lines {
		if ours, ok := strings.CutPrefix(l, "> "); ok {
			for _, o := range a.ToAgent([]byte(ours)).Lines {
				out = append(out, "> "+string(o))
			}
		} else if got := translateFromAgent(t, a, l); got != "" {
			out = append(out, strings.Split(got, "\n")...)
		}
	}
	return out
}

// TestConversations plays sessions that continue, are cancelled, are resumed, are restarted, or
// fail to start.
func TestConversations(t *testing.T) {
	start, prompt, cancel := `> {"type":"init"}`, `> {"type":"prompt","text":"go"}`, `> {"type":"cancel","reason":"r"}`
	// a refused message whose second block is incomplete, and the start of its replacement
	refused := []string{prompt, `{"type":"stream_event","uuid":"e1","event":{"type":"message_start","message":{"id":"m1"}}}`,
		`{"type":"stream_event","uuid":"e2","event":{"delta":{"type":"text_delta","text":"I "}}}`,
		`{"type":"stream_event","uuid":"e3","event":{"delta":{"type":"text_delta","text":"can"}}}`,
		`{"type":"assistant","uuid":"l1","message":{"id":"m1","content":[{"type":"text","text":"I can"}]}}`,
		`{"type":"stream_event","uuid":"e4","event":{"delta":{"type":"text_delta","text":"not"}}}`,
		`{"type":"stream_event","uuid":"e5","event":{"type":"message_delta","delta":{"stop_reason":"refusal"}}}`,
		`{"type":"stream_event","uuid":"e6","event":{"type":"message_start","message":{"id":"m2"}}}`,
		`{"type":"stream_event","uuid":"e7","event":{"delta":{"type":"text_delta","text":"Su"}}}`,
		`{"type":"stream_event","uuid":"e8","event":{"delta":{"type":"text_delta","text":"re."}}}`}
	refused = refused[:len(refused):len(refused)]
	queuedPrompt, steer := `> {"type":"prompt","text":"more","queued":true}`, `> {"type":"steer","id":"t1","text":"more"}`
	for _, c := range []struct {
		name, transport string
		v               Vendor
		resume          string
		lines           []string
		want            []string // the results of the last lines
	}{
		{"cost and usage are the exchange's", "claude-code", Vendor{}, "", []string{
			`{"type":"result","subtype":"success","result":"a","total_cost_usd":0.5,"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4}}`,
			`{"type":"result","subtype":"success","result":"b","total_cost_usd":0.75}`,
		}, []string{`{"type":"result","text":"a","usage":{"tokens_in":6,"tokens_out":4,"tokens_cached":3,"tokens_cache_write":2},"cost_usd":0.5`, `{"type":"result","text":"b","cost_usd":0.25`}},
		{"usage of replies, which lines with the same ID correct", "claude-code", Vendor{}, "", []string{prompt,
			`{"type":"assistant","message":{"id":"m1","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}`,
			`{"type":"assistant","message":{"id":"m1","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}`,
			`{"type":"assistant","message":{"id":"m1","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":4}}}`,
			`{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"s1","content":[],"usage":{"input_tokens":100,"output_tokens":2}}}`,
			`{"type":"assistant","message":{"id":"m2","content":[],"usage":{"input_tokens":20,"output_tokens":3}}}`, prompt,
			`{"type":"assistant","message":{"id":"m3","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		}, []string{`{"type":"progress","message":"16 tokens","stage":"usage","usage":{"tokens_in":15,"tokens_out":1,"tokens_cached":5},"turns":1`, `quiet assistant`,
			`{"type":"progress","message":"19 tokens","stage":"usage","usage":{"tokens_in":15,"tokens_out":4,"tokens_cached":5},"turns":1`,
			`{"type":"progress","message":"121 tokens","stage":"usage","usage":{"tokens_in":115,"tokens_out":6,"tokens_cached":5},"turns":1`,
			`{"type":"progress","message":"144 tokens","stage":"usage","usage":{"tokens_in":135,"tokens_out":9,"tokens_cached":5},"turns":2`,
			`> {"message":{"content":[{"text":"go","type":"text"}],"role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}`,
			`{"type":"progress","message":"2 tokens","stage":"usage","usage":{"tokens_in":1,"tokens_out":1,"tokens_cached":0},"turns":1`}},
		{"usage by model is the exchange's", "claude-code", Vendor{}, "S", []string{start,
			`{"type":"control_response","response":{"subtype":"success","request_id":"i1","response":{}}}`,
			`{"type":"control_response","response":{"subtype":"success","request_id":"u1","response":{"session":{"total_cost_usd":1,"model_usage":{"big":{"inputTokens":5,"outputTokens":1,"cacheReadInputTokens":2,"cacheCreationInputTokens":1,"costUSD":0.75},"unused":{"inputTokens":4,"outputTokens":4,"costUSD":0.25}}}}}}`, prompt,
			`{"type":"result","subtype":"success","result":"a","session_id":"S","total_cost_usd":2.25,"modelUsage":{"big":{"inputTokens":10,"outputTokens":2,"cacheReadInputTokens":2,"cacheCreationInputTokens":4,"costUSD":1.75},"unused":{"inputTokens":4,"outputTokens":4,"costUSD":0.25},"small":{"inputTokens":3,"outputTokens":1,"costUSD":0.25}}}`, prompt,
			`{"type":"result","subtype":"error_during_execution","session_id":"S","modelUsage":{"big":{"inputTokens":11,"outputTokens":2,"cacheReadInputTokens":2,"cacheCreationInputTokens":4,"costUSD":1.875},"unused":{"inputTokens":4,"outputTokens":4,"costUSD":0.25},"small":{"inputTokens":3,"outputTokens":1,"costUSD":0.25}}}`,
		}, []string{`> {"request":{"subtype":"get_usage"},"request_id":"u1","type":"control_request"}`, `{"type":"init_ack","capabilities":["cancel","resume","steer"]}`,
			`> {"message":{"content":[{"text":"go","type":"text"}],"role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}`,
			`{"type":"result","text":"a","session":"S","usage":{"tokens_in":11,"tokens_out":2,"tokens_cached":0,"tokens_cache_write":3},"cost_usd":1.25,"models":{"big":{"tokens_in":8,"tokens_out":1,"tokens_cached":0,"tokens_cache_write":3,"cost_usd":1.0},"small":{"tokens_in":3,"tokens_out":1,"tokens_cached":0,"cost_usd":0.25}}`,
			`> {"message":{"content":[{"text":"go","type":"text"}],"role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}`,
			`{"type":"progress","message":"the turn has failed","stage":"usage","usage":{"tokens_in":1,"tokens_out":0,"tokens_cached":0},"models":{"big":{"tokens_in":1,"tokens_out":0,"tokens_cached":0,"cost_usd":0.125}}}`,
			`{"type":"error","message":"error_during_execution","code":"error_during_execution","session":"S"`}},
		{"usage by model of the threads", "codex", Vendor{}, "", []string{
			start, `{"id":1,"result":{"userAgent":"x/0.171.0"}}`, `{"id":2,"result":{"thread":{"id":"T"},"model":"big"}}`, prompt, `{"id":3,"result":{"turn":{"id":"U"}}}`,
			`{"method":"thread/started","params":{"thread":{"id":"A","parentThreadId":"T","model":"small"}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"A","tokenUsage":{"total":{"inputTokens":3,"outputTokens":1}}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U","tokenUsage":{"total":{"inputTokens":5,"outputTokens":2,"cachedInputTokens":1}}}}`,
			`{"method":"model/rerouted","params":{"threadId":"T","turnId":"U","fromModel":"big","toModel":"other"}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U","tokenUsage":{"total":{"inputTokens":6,"outputTokens":2,"cachedInputTokens":1}}}}`,
			`{"method":"turn/completed","params":{"turn":{"id":"U","status":"completed"}}}`, prompt, `{"id":4,"result":{"turn":{"id":"V"}}}`,
			`{"method":"turn/started","params":{"threadId":"T","turn":{"id":"V"}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"V","tokenUsage":{"total":{"inputTokens":8,"outputTokens":3,"cachedInputTokens":1}}}}`,
			`{"method":"turn/completed","params":{"turn":{"id":"V","status":"completed"}}}`,
		}, []string{
			`{"type":"result","text":"","session":"T","usage":{"tokens_in":9,"tokens_out":3,"tokens_cached":1},"models":{"big":{"tokens_in":5,"tokens_out":2,"tokens_cached":1},"other":{"tokens_in":1,"tokens_out":0,"tokens_cached":0},"small":{"tokens_in":3,"tokens_out":1,"tokens_cached":0}}`,
			`> {"id":4,"jsonrpc":"2.0","method":"turn/start","params":{"input":[{"text":"go","text_elements":[],"type":"text"}],"threadId":"T"}}`,
			`{"type":"progress","message":"big, Codex 0.171.0","stage":"start"`, `{"type":"progress","message":"3 tokens","stage":"usage","usage":{"tokens_in":2,"tokens_out":1,"tokens_cached":0}`,
			`{"type":"result","text":"","session":"T","usage":{"tokens_in":2,"tokens_out":1,"tokens_cached":0},"models":{"big":{"tokens_in":2,"tokens_out":1,"tokens_cached":0}}`}},
		{"a refused message is retracted by the line that replaces it", "claude-code", Vendor{}, "", append(refused,
			`{"type":"assistant","uuid":"l4","supersedes":["l1","l2","tool"],"message":{"id":"m2","content":[{"type":"text","text":"Sure."}]}}`,
			`{"type":"system","subtype":"model_refusal_fallback","content":"Another model answers.","retracted_message_uuids":["l1","l2","tool"]}`,
			`{"type":"result","subtype":"success"}`,
		), []string{`{"type":"partial","text":"Su","message":"e7"}`, `{"type":"partial","text":"re.","message":"e7"}`, `{"type":"retract","messages":["e4","e2"]}`,
			`{"type":"log","level":"warn","message":"Another model answers."}`, `{"type":"result","text":"Sure."`}},
		{"a refused message is retracted by the report", "claude-code", Vendor{}, "", append(refused,
			`{"type":"system","subtype":"model_refusal_fallback","content":"Another model answers.","retracted_message_uuids":["l1","l2"]}`,
			`{"type":"assistant","uuid":"l4","message":{"id":"m2","content":[{"type":"text","text":"Sure."}]}}`,
			`{"type":"system","subtype":"model_refusal_fallback","content":"Again.","retracted_message_uuids":["l1","l2","l4"]}`,
			`{"type":"result","subtype":"success"}`,
		), []string{`{"type":"partial","text":"Su","message":"e7"}`, `{"type":"partial","text":"re.","message":"e7"}`, `{"type":"retract","messages":["e4","e2"]}`,
			`{"type":"log","level":"warn","message":"Another model answers."}`, `quiet assistant`,
			`{"type":"retract","messages":["e7"]}`, `{"type":"log","level":"warn","message":"Again."}`, `{"type":"result","text":""`}},
		{"a message that was not streamed is retracted", "claude-code", Vendor{}, "", []string{prompt,
			`{"type":"assistant","uuid":"l1","message":{"id":"m1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}`,
			`{"type":"assistant","uuid":"l2","parent_tool_use_id":"t","supersedes":["l1"],"message":{"id":"m2","content":[]}}`,
			`{"type":"system","subtype":"model_refusal_fallback","scope":"local","content":"A subagent's.","retracted_message_uuids":["s1"]}`,
			`{"type":"assistant","uuid":"l3","supersedes":["l1"],"message":{"id":"m3","content":[]}}`,
		}, []string{`{"type":"partial","text":"a","message":"l1"}`, `{"type":"partial","text":"b","message":"l1"}`, `quiet assistant`,
			`{"type":"log","level":"warn","message":"A subagent's."}`, `{"type":"retract","messages":["l1"]}`}},
		{"usage of a thread whose model is unknown", "codex", Vendor{}, "", []string{
			start, `{"id":1,"result":{"userAgent":"x/0.171.0"}}`, `{"id":2,"result":{"thread":{"id":"T"},"model":"big"}}`, prompt, `{"id":3,"result":{"turn":{"id":"U"}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U","tokenUsage":{"total":{"inputTokens":5,"outputTokens":2,"cachedInputTokens":1}}}}`,
			`{"method":"thread/started","params":{"thread":{"id":"A","parentThreadId":"T"}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"A","tokenUsage":{"total":{"inputTokens":3,"outputTokens":1}}}}`,
			`{"method":"turn/completed","params":{"turn":{"id":"U","status":"completed"}}}`,
		}, []string{`{"type":"result","text":"","session":"T","usage":{"tokens_in":8,"tokens_out":3,"tokens_cached":1}`}},
		{"limits of the plan", "claude-code", Vendor{}, "", []string{
			`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1771390800,"rateLimitType":"five_hour","utilization":0.85}}`,
			`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1771390800,"rateLimitType":"five_hour","utilization":0.9}}`,
			`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1771390800,"rateLimitType":"seven_day"}}`,
			`{"type":"result","subtype":"success","is_error":true,"result":"limit","session_id":"s"}`,
		}, []string{`{"type":"plan_limit","window":"5h","status":"near","used_percent":85.0,"resets_at":"2026-02-18T05:00:00Z"`, `quiet rate_limit_event`,
			`{"type":"plan_limit","window":"week","status":"reached","resets_at":"2026-02-18T05:00:00Z"`,
			`{"type":"error","message":"limit","code":"api_error","accepted":true,"session":"s"`}},
		{"a state of the plan is reported once in an exchange", "claude-code", Vendor{}, "", []string{prompt,
			`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour"}}`,
			queuedPrompt,
			`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour"}}`,
			prompt,
			`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour"}}`,
		}, []string{`{"type":"plan_limit","window":"5h","status":"reached"`,
			`> {"message":{"content":[{"text":"more","type":"text"}],"role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}`, `quiet rate_limit_event`,
			`> {"message":{"content":[{"text":"go","type":"text"}],"role":"user"},"parent_tool_use_id":null,"session_id":"","type":"user"}`, `{"type":"plan_limit","window":"5h","status":"reached"`}},
		{"a state of the plan is reported once in an exchange", "codex", Vendor{}, "", []string{
			start, `{"id":1,"result":{"userAgent":"x/0.107.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, prompt,
			`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"windowDurationMins":300}}}}`,
			`{"method":"turn/completed","params":{"turn":{"status":"completed"}}}`, queuedPrompt,
			`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"windowDurationMins":300}}}}`,
		}, []string{`{"type":"plan_limit","window":"5h","status":"reached","used_percent":100.0`, `{"type":"result","text":"","session":"T"`,
			`> {"id":4,"jsonrpc":"2.0","method":"turn/start","params":{"input":[{"text":"more","text_elements":[],"type":"text"}],"threadId":"T"}}`, `quiet account/rateLimits/updated`}},
		{"what a failed turn has used, and the next turn", "claude-code", Vendor{}, "", []string{prompt,
			`{"type":"assistant","message":{"id":"m1","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`,
			`{"type":"result","subtype":"error_during_execution","num_turns":1,"total_cost_usd":0.5,"usage":{"input_tokens":20,"output_tokens":2}}`,
			`{"type":"assistant","message":{"id":"m2","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		}, []string{`{"type":"progress","message":"the turn has failed","stage":"usage","usage":{"tokens_in":20,"tokens_out":2,"tokens_cached":0},"cost_usd":0.5,"turns":1}`,
			`{"type":"error","message":"error_during_execution","code":"error_during_execution"`,
			`{"type":"progress","message":"2 tokens","stage":"usage","usage":{"tokens_in":1,"tokens_out":1,"tokens_cached":0},"turns":1`}},
		{"limits of the plan", "codex", Vendor{}, "", []string{
			start, `{"id":1,"result":{"userAgent":"x/0.107.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`,
			`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":90,"windowDurationMins":300}}}}`, prompt,
			`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"windowDurationMins":300,"resetsAt":1771390800},"secondary":{"usedPercent":80,"windowDurationMins":10080}}}}`,
			`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":2,"windowDurationMins":300},"secondary":{"usedPercent":99.5,"windowDurationMins":10080}}}}`,
			`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":80,"windowDurationMins":300},"secondary":{"usedPercent":100,"windowDurationMins":4320}}}}`,
		}, []string{`quiet account/rateLimits/updated`, `> {"id":3,"jsonrpc":"2.0","method":"turn/start","params":{"input":[{"text":"go","text_elements":[],"type":"text"}],"threadId":"T"}}`,
			`{"type":"plan_limit","window":"5h","status":"reached","used_percent":100.0,"resets_at":"2026-02-18T05:00:00Z"`, `{"type":"plan_limit","window":"week","status":"near","used_percent":80.0`,
			`quiet account/rateLimits/updated`, `{"type":"plan_limit","window":"5h","status":"near","used_percent":80.0`, `{"type":"plan_limit","window":"3d","status":"reached","used_percent":100.0`}},
		{"usage", "codex", Vendor{}, "", []string{
			start, `{"id":1,"result":{"userAgent":"x/0.107.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, prompt,
			`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":5,"outputTokens":2,"cachedInputTokens":1}}}}`,
			`{"method":"turn/completed","params":{"turn":{"status":"completed"}}}`, prompt,
			`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":15,"outputTokens":4,"cachedInputTokens":1}}}}`,
			`{"method":"turn/completed","params":{"turn":{"status":"completed"}}}`,
		}, []string{`{"type":"result","text":"","session":"T","usage":{"tokens_in":10,"tokens_out":2,"tokens_cached":0}`}},
		{"usage of a resumed thread", "codex", Vendor{}, "T", []string{
			start, `{"id":1,"result":{"userAgent":"x/0.107.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":5,"outputTokens":2,"cachedInputTokens":1}}}}`, prompt,
			`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":15,"outputTokens":4,"cachedInputTokens":3}}}}`,
			`{"method":"turn/completed","params":{"turn":{"status":"completed"}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":15,"outputTokens":4,"cachedInputTokens":3}}}}`,
		}, []string{`quiet thread/tokenUsage/updated`,
			`> {"id":3,"jsonrpc":"2.0","method":"turn/start","params":{"input":[{"text":"go","text_elements":[],"type":"text"}],"threadId":"T"}}`,
			`{"type":"progress","message":"12 tokens","stage":"usage","usage":{"tokens_in":10,"tokens_out":2,"tokens_cached":2}`,
			`{"type":"result","text":"","session":"T","usage":{"tokens_in":10,"tokens_out":2,"tokens_cached":2}`, `quiet thread/tokenUsage/updated`}},
		{"usage of a resumed thread, reported after the prompt", "codex", Vendor{}, "T", []string{
			start, `{"id":1,"result":{"userAgent":"x/0.107.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, prompt,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"0","tokenUsage":{"total":{"inputTokens":5,"outputTokens":2,"cachedInputTokens":1}}}}`,
			`{"id":3,"result":{"turn":{"id":"1"}}}`,
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"1","tokenUsage":{"total":{"inputTokens":15,"outputTokens":4,"cachedInputTokens":3}}}}`,
			`{"method":"turn/completed","params":{"turn":{"id":"1","status":"completed"}}}`,
		}, []string{`quiet thread/tokenUsage/updated`,
			`{"type":"progress","message":"12 tokens","stage":"usage","usage":{"tokens_in":10,"tokens_out":2,"tokens_cached":2}`,
			`{"type":"result","text":"","session":"T","usage":{"tokens_in":10,"tokens_out":2,"tokens_cached":2}`}},
		{"usage", "acp", Vendor{}, "", []string{
			start, `{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"result":{"sessionId":"S"}}`, prompt, update(`"usage_update","used":1,"cost":{"amount":0.5,"currency":"USD"}`),
			`{"id":3,"result":{"stopReason":"end_turn"}}`, prompt, update(`"usage_update","used":1,"cost":{"amount":0.75,"currency":"USD"}`),
			`{"id":4,"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"cachedReadTokens":2,"outputTokens":3},"_meta":{"quota":{"token_count":{"input_tokens":9}}}}}`,
		}, []string{`{"type":"result","text":"","session":"S","usage":{"tokens_in":3,"tokens_out":3,"tokens_cached":2},"cost_usd":0.25,"stop_reason":"end_turn"`}},

		{"the handshake is refused", "claude-code", Vendor{}, "", []string{start, `{"type":"control_response","response":{"subtype":"error","request_id":"i1","error":"not logged in"}}`},
			[]string{`{"type":"error","message":"host 'Coder': initialize: not logged in","code":"initialize"}`}},
		{"the handshake is refused", "codex", Vendor{}, "", []string{start, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"error":{"code":-32600,"message":"no such model"}}`},
			[]string{`{"type":"error","message":"host 'Coder': thread/start: no such model","code":"-32600"}`}},
		{"the handshake is refused", "acp", Vendor{}, "", []string{start, `{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"error":{"code":-32000,"message":"Authentication required"}}`},
			[]string{`{"type":"error","message":"host 'Coder': session/new: Authentication required","code":"-32000"}`}},
		{"too old", "codex", Vendor{}, "", []string{start, `{"id":1,"result":{"userAgent":"concerto/0.105.0 (Linux)"}}`},
			[]string{`{"type":"error","message":"host 'Coder' is Codex 0.105.0, but at least 0.107.0 is required","code":"version"}`}},
		{"no version", "codex", Vendor{}, "", []string{start, `{"id":1,"result":{"userAgent":"own build"}}`},
			[]string{`{"type":"log","level":"warn","message":"host 'Coder' does not report its version: own build"}`, `> {"jsonrpc":"2.0","method":"initialized"}`,
				`> {"id":2,"jsonrpc":"2.0","method":"thread/start","params":{"approvalPolicy":"untrusted","cwd":"/work","sandbox":"workspace-write"}}`}},
		{"another version", "acp", Vendor{}, "", []string{start, `{"id":1,"result":{"protocolVersion":2}}`},
			[]string{`{"type":"error","message":"host 'Coder' uses version 2 of ACP, but version 1 is required","code":"version"}`}},

		{"resumed", "codex", Vendor{}, "old", []string{start, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`},
			[]string{`> {"id":2,"jsonrpc":"2.0","method":"thread/resume","params":{"approvalPolicy":"untrusted","cwd":"/work","sandbox":"workspace-write","threadId":"old"}}`}},
		{"resumed", "acp", Vendor{}, "old", []string{start, `{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}}`},
			[]string{`> {"id":2,"jsonrpc":"2.0","method":"session/resume","params":{"cwd":"/work","mcpServers":[],"sessionId":"old"}}`}},
		{"loaded", "acp", Vendor{}, "old", []string{start, `{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}`,
			`{"method":"session/update","params":{"sessionId":"old","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"before"}}}}`, `{"id":2,"result":{}}`},
			[]string{`> {"id":2,"jsonrpc":"2.0","method":"session/load","params":{"cwd":"/work","mcpServers":[],"sessionId":"old"}}`, `quiet agent_message_chunk`,
				`{"type":"init_ack","capabilities":["cancel","resume"]}`}},
		{"not resumed", "acp", Vendor{}, "old", []string{start, `{"id":1,"result":{"protocolVersion":1}}`},
			[]string{`{"type":"error","message":"host 'Coder' cannot resume a session","code":"resume","session":"old"}`}},

		{"fresh", "codex", Vendor{Session: "fresh"}, "", []string{start, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, prompt, prompt, `{"id":4,"result":{"thread":{"id":"T2"}}}`},
			[]string{`> {"id":3,"jsonrpc":"2.0","method":"turn/start","params":{"input":[{"text":"go","text_elements":[],"type":"text"}],"threadId":"T"}}`,
				`> {"id":4,"jsonrpc":"2.0","method":"thread/start","params":{"approvalPolicy":"untrusted","cwd":"/work","sandbox":"workspace-write"}}`,
				`> {"id":5,"jsonrpc":"2.0","method":"turn/start","params":{"input":[{"text":"go","text_elements":[],"type":"text"}],"threadId":"T2"}}`}},
		{"fresh", "acp", Vendor{Session: "fresh"}, "", []string{start, `{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"result":{"sessionId":"S"}}`, prompt, prompt, `{"id":4,"result":{"sessionId":"S2"}}`},
			[]string{`> {"id":4,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/work","mcpServers":[]}}`,
				`> {"id":5,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"go","type":"text"}],"sessionId":"S2"}}`}},
		{"closed", "acp", Vendor{Session: "fresh"}, "", []string{start, `{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}}`, `{"id":2,"result":{"sessionId":"S"}}`,
			prompt, queuedPrompt, prompt, `{"id":5,"error":{"code":-32603,"message":"no such session"}}`, `{"id":6,"result":{"sessionId":"S2"}}`},
			[]string{`> {"id":3,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"go","type":"text"}],"sessionId":"S"}}`,
				`> {"id":4,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"more","type":"text"}],"sessionId":"S"}}`,
				`> {"id":5,"jsonrpc":"2.0","method":"session/close","params":{"sessionId":"S"}}`, `> {"id":6,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/work","mcpServers":[]}}`,
				`{"type":"log","level":"warn","message":"session/close: no such session"}`, `> {"id":7,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"go","type":"text"}],"sessionId":"S2"}}`}},
		{"a later turn", "codex", Vendor{Session: "fresh"}, "", []string{start, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, prompt, queuedPrompt},
			[]string{`> {"id":4,"jsonrpc":"2.0","method":"turn/start","params":{"input":[{"text":"more","text_elements":[],"type":"text"}],"threadId":"T"}}`}},
		{"steered before the turn has a name", "codex", Vendor{}, "", []string{start, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, prompt, steer, `{"id":3,"result":{"turn":{"id":"U"}}}`},
			[]string{`> {"id":4,"jsonrpc":"2.0","method":"turn/steer","params":{"expectedTurnId":"U","input":[{"text":"more","text_elements":[],"type":"text"}],"threadId":"T"}}`}},
		{"steered before a turn that fails", "codex", Vendor{}, "", []string{start, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, prompt, steer,
			`{"method":"turn/completed","params":{"turn":{"status":"failed","error":{"message":"no","additionalDetails":"try at 5pm"}}}}`},
			[]string{`steered t1: false`, `{"type":"error","message":"no: try at 5pm","code":"turn_failed","session":"T"`}},
		{"turns that the thread has begun itself", "codex", Vendor{}, "", []string{start, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, prompt,
			`{"id":3,"result":{"turn":{"id":"U"}}}`, `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"V","status":"completed"}}}`,
			`{"method":"turn/started","params":{"threadId":"T","turn":{"id":"W"}}}`, `{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"W","itemId":"i","delta":"other"}}`,
			`{"method":"item/completed","params":{"threadId":"T","turnId":"W","item":{"type":"agentMessage","id":"i","text":"other"}}}`,
			`{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"j","text":"mine"}}}`,
			`{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"W","status":"completed"}}}`, `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}`},
			[]string{`{"type":"progress","message":"a turn of its own ended as completed","stage":"turn","foreign":true`,
				`quiet turn/started`, `quiet item/agentMessage/delta`, `quiet item/completed`, `{"type":"partial","text":"mine"}`, `quiet item/completed/agentMessage`,
				`{"type":"progress","message":"a turn of its own ended as completed","stage":"turn","foreign":true`, `{"type":"result","text":"mine","session":"T"`}},

		{"model and mode", "acp", Vendor{Model: "big", Mode: "plan"}, "", []string{start, `{"id":1,"result":{"protocolVersion":1}}`,
			`{"id":2,"result":{"sessionId":"S","configOptions":[{"id":"m","category":"model","options":[{"options":[{"value":"small"},{"value":"big"}]}]}],"modes":{"availableModes":[{"id":"plan"}]}}}`,
			`{"id":3,"result":{}}`, `{"id":4,"result":null}`},
			[]string{`> {"id":3,"jsonrpc":"2.0","method":"session/set_config_option","params":{"configId":"m","sessionId":"S","value":"big"}}`,
				`> {"id":4,"jsonrpc":"2.0","method":"session/set_mode","params":{"modeId":"plan","sessionId":"S"}}`, `{"type":"init_ack","capabilities":["cancel","resume"]}`}},
		{"a model of the older form", "acp", Vendor{Model: "big"}, "", []string{start, `{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"result":{"sessionId":"S","models":{"availableModels":[{"modelId":"big"}]}}}`},
			[]string{`> {"id":3,"jsonrpc":"2.0","method":"session/set_model","params":{"modelId":"big","sessionId":"S"}}`}},
		{"no such model", "acp", Vendor{Model: "huge"}, "", []string{start, `{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"result":{"sessionId":"S","models":{"availableModels":[{"modelId":"a"},{"modelId":"b"}]}}}`},
			[]string{`{"type":"error","message":"host 'Coder' does not offer the model 'huge': it offers a, b","code":"model","session":"S"}`}},
		{"no such mode", "acp", Vendor{Mode: "plan"}, "", []string{start, `{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"result":{"sessionId":"S"}}`},
			[]string{`{"type":"error","message":"host 'Coder' does not offer the mode 'plan': it offers none","code":"mode","session":"S"}`}},

		{"cancelled", "claude-code", Vendor{}, "", []string{cancel, cancel},
			[]string{`> {"request":{"cancel_queued":true,"subtype":"interrupt"},"request_id":"c1","type":"control_request"}`, `> {"request":{"cancel_queued":true,"subtype":"interrupt"},"request_id":"c2","type":"control_request"}`}},
		{"cancelled before the turn has a name", "codex", Vendor{}, "", []string{start, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, prompt, cancel, `{"id":3,"result":{"turn":{"id":"U"}}}`},
			[]string{`> {"id":3,"jsonrpc":"2.0","method":"turn/start","params":{"input":[{"text":"go","text_elements":[],"type":"text"}],"threadId":"T"}}`,
				`> {"id":4,"jsonrpc":"2.0","method":"turn/interrupt","params":{"threadId":"T","turnId":"U"}}`}},
		{"cancelled with requests open", "acp", Vendor{}, "", []string{start, `{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"result":{"sessionId":"S"}}`, prompt,
			`{"method":"session/request_permission","id":"b","params":{"toolCall":{"toolCallId":"1"}}}`, `{"method":"elicitation/create","id":"a","params":{"requestedSchema":{}}}`, cancel},
			[]string{`> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"S"}}`, `> {"id":"a","jsonrpc":"2.0","result":{"action":"cancel"}}`,
				`> {"id":"b","jsonrpc":"2.0","result":{"outcome":{"outcome":"cancelled"}}}`}},

		{"withdrawn", "claude-code", Vendor{}, "", []string{`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"X","input":{}}}`,
			`{"type":"control_cancel_request","request_id":"r"}`, `> ` + string(response("r", "value", "true"))}, []string{`{"type":"withdraw","id":"r"}`}},
		{"a question for a secret", "codex", Vendor{}, "", []string{`{"method":"item/tool/requestUserInput","id":8,"params":{"questions":[{"id":"a","question":"Who?"},{"id":"b","question":"Password?","isSecret":true}]}}`},
			[]string{`{"type":"question","id":"8","question":"Who?\nPassword?","questions":[{"id":"a","question":"Who?","options":[],"multi":false},{"id":"b","question":"Password?","options":[],"multi":false,"secret":true}],"secret":true`}},
		{"withdrawn", "codex", Vendor{}, "", []string{`{"method":"item/tool/requestUserInput","id":8,"params":{}}`, `{"method":"serverRequest/resolved","params":{"requestId":8}}`, `> ` + string(response("8", "value", "true"))},
			[]string{`{"type":"withdraw","id":"8"}`}},
		{"withdrawn", "acp", Vendor{}, "", []string{`{"method":"session/request_permission","id":8,"params":{}}`, `{"method":"$/cancel_request","params":{"requestId":8}}`, `> ` + string(response("8", "value", "true"))},
			[]string{`{"type":"withdraw","id":"8"}`}},
		{"completed elsewhere", "acp", Vendor{}, "", []string{`{"method":"elicitation/create","id":8,"params":{"elicitationId":"e","requestedSchema":{}}}`, `{"method":"elicitation/complete","params":{"elicitationId":"e"}}`,
			`> ` + string(response("8", "value", "true"))},
			[]string{`{"type":"withdraw","id":"8"}`, `> {"id":8,"jsonrpc":"2.0","result":{"action":"accept"}}`}},
	} {
		got := talked(t, newAdapter(t, c.transport, c.v, c.resume), c.lines...)
		if n := len(got) - len(c.want); n < 0 || !slices.Equal(got[n:], c.want) {
			t.Errorf("%s, %s: results:\n%s\nwant\n%s", c.transport, c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestAnswersPrecedeResult checks that the result of a turn waits for the agent's answers to the
// messages of the turn, because a refused message needs another turn.
func TestAnswersPrecedeResult(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`{"id":4,"result":{"turnId":"U"}}`, "steered t1: true"},
		{`{"id":4,"error":{"code":-32600,"message":"no active turn to steer"}}`, "steered t1: false"},
	} {
		a := newAdapter(t, "codex", Vendor{}, "")
		got := talked(t, a, `> {"type":"init"}`, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, `> {"type":"prompt","text":"go"}`,
			`{"id":3,"result":{"turn":{"id":"U"}}}`, `> {"type":"steer","id":"t1","text":"more"}`, `{"method":"turn/completed","params":{"turn":{"id":"U","status":"completed"}}}`)
		if last := got[len(got)-1]; !strings.Contains(last, "turn/steer") {
			t.Errorf("the turn's end is translated to %s before the answer", last)
		}
		s := a.FromAgent([]byte(c.answer))
		if len(s.Steered) != 1 || len(s.Messages) != 1 || !strings.HasPrefix(string(s.Messages[0]), `{"type":"result"`) {
			t.Fatalf("the answer is translated to %+v", s)
		}
		if got := fmt.Sprintf("steered %s: %v", s.Steered[0].ID, s.Steered[0].Accepted); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"2.0.9", "2.1.0", true}, {"2.1.0", "2.1.0", false}, {"2.10.0", "2.9.0", false}, {"0.99.0", "0.107.0", true}, {"1.0", "1.0.1", true}, {"x.1.1", "2.1.1", false}} {
		if got := Older(c.a, c.b); got != c.want {
			t.Errorf("Older(%q, %q) = %t, want %t", c.a, c.b, got, c.want)
		}
	}
}

// TestAnyLine changes recorded lines at random, and cuts them. The adapter must produce only valid
// messages and valid JSON from them.
func TestAnyLine(t *testing.T) {
	var all []string
	for _, c := range fromAgentTable {
		all = append(all, c.line)
	}
	for _, c := range approvals {
		all = append(all, c.line)
	}
	for _, c := range questions {
		all = append(all, c.line)
	}
	randtest.Run(t, "runtime/host", 400, func(uint64) string { return "lines of the tables, mangled" }, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		a := begun(t, []string{"claude-code", "codex", "acp"}[r.IntN(3)])
		for range 20 {
			line := mangled(r, all[r.IntN(len(all))])
			s := a.FromAgent([]byte(line))
			for _, o := range s.Messages {
				var m struct {
					Type string          `json:"type"`
					ID   json.RawMessage `json:"id"`
				}
				if string(o) != line && (json.Unmarshal(o, &m) != nil || m.Type == "") {
					t.Fatalf("line %s\nproduces the invalid message %s", line, o)
				}
				if len(m.ID) > 0 && r.IntN(2) == 0 {
					value := []string{`"yes"`, `["a"]`, `{"q":1}`, `null`, `7`}[r.IntN(5)]
					s = s.then(a.ToAgent([]byte(`{"type":"response","answer_to":` + string(m.ID) + `,"value":` + value + `}`)))
				}
			}
			for _, o := range s.Lines {
				if !json.Valid(o) {
					t.Fatalf("line %s\nproduces the invalid JSON %s", line, o)
				}
			}
			reread(t, a)
		}
	})
}

// mangled returns the line with a value replaced, a piece removed or the end cut off, or unchanged.
func mangled(r *rand.Rand, line string) string {
	switch r.IntN(4) {
	case 0:
		return line
	case 1:
		at := r.IntN(len(line) + 1)
		return line[:at]
	case 2:
		at, n := r.IntN(len(line)), r.IntN(6)
		return line[:at] + line[min(at+n, len(line)):]
	}
	values := []string{"null", "7", `"x"`, "[]", "{}", "[1,2]", `{"a":{}}`, "true"}
	at := strings.LastIndex(line[:r.IntN(len(line))+1], ":")
	end := at + 1 + max(strings.IndexAny(line[at+1:], ",}]"), 0)
	if at < 0 {
		return line
	}
	return line[:at+1] + values[r.IntN(len(values))] + line[end:]
}

// TestHeldMessage checks that Codex refuses a message that arrives after its turn, while the turn's
// result waits for the answer to an earlier message. The next exchange does not receive it.
func TestHeldMessage(t *testing.T) {
	a := newAdapter(t, "codex", Vendor{}, "")
	_ = talked(t, a, `> {"type":"init"}`, `{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, `> {"type":"prompt","text":"go"}`,
		`{"id":3,"result":{"turn":{"id":"U"}}}`, `> {"type":"steer","id":"t1","text":"more"}`,
		`{"method":"turn/completed","params":{"turn":{"id":"U","status":"completed"}}}`, `> {"type":"steer","id":"t2","text":"late"}`)
	s := a.FromAgent([]byte(`{"id":4,"result":{"turnId":"U"}}`))
	if want := []Steered{{ID: "t1", Accepted: true}, {ID: "t2"}}; !slices.Equal(s.Steered, want) || len(s.Messages) != 1 {
		t.Errorf("outcomes = %+v with %d messages, want %+v and the result", s.Steered, len(s.Messages), want)
	}
	_ = talked(t, a, `> {"type":"prompt","text":"second exchange"}`)
	if s := a.FromAgent([]byte(`{"id":5,"result":{"turn":{"id":"V"}}}`)); len(s.Lines) != 0 {
		t.Errorf("the second exchange sends %q, want nothing", s.Lines)
	}
}

// TestLateText checks that a text which an ACP agent wrote before it was sent the prompt is not
// part of the result, and that its requests are passed on.
func TestLateText(t *testing.T) {
	a := begun(t, "acp")
	late := a.(LateReader)
	if s := late.FromAgentLate([]byte(update(`"agent_message_chunk","content":{"type":"text","text":"late"}`))); len(s.Messages) > 0 || s.Quiet != "agent_message_chunk" {
		t.Errorf("late text: %s, quiet %q", s.Messages, s.Quiet)
	}
	if s := late.FromAgentLate([]byte(`{"method":"session/request_permission","id":5,"params":{"sessionId":"S","toolCall":{"toolCallId":"1","kind":"execute"},"options":[]}}`)); len(s.Messages) != 1 {
		t.Errorf("late request: %s", s.Messages)
	}
	if got, want := talked(t, a, update(`"agent_message_chunk","content":{"type":"text","text":"mine"}`), `{"id":3,"result":{"stopReason":"end_turn"}}`)[1], `{"type":"result","text":"mine","session":"S","stop_reason":"end_turn"`; got != want {
		t.Errorf("result = %s, want %s", got, want)
	}
}

// TestErrorDetails checks which part of an error's data its message contains.
func TestErrorDetails(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{``, "Internal error"}, {`null`, "Internal error"}, {`"rate limit"`, "Internal error: rate limit"}, {`{"details":"rate limit"}`, "Internal error: rate limit"},
		{`{"message":" no node on PATH\n"}`, "Internal error: no node on PATH"}, {`{"error":"x","reason":"y"}`, "Internal error: x"},
		{`{"details":{"a":1}}`, "Internal error"}, {`[1]`, "Internal error"}, {`"Internal error"`, "Internal error"}, {`7`, "Internal error"},
	} {
		e := &RPCError{Message: "Internal error", Data: json.RawMessage(c.data)}
		if got := e.text(); got != c.want {
			t.Errorf("text of %s = %q, want %q", c.data, got, c.want)
		}
	}
	if got := (&RPCError{Message: "It failed.", Data: json.RawMessage(`"at 5"`)}).text(); got != "It failed: at 5" {
		t.Errorf("text = %q", got)
	}
}

// TestUndelivered checks which decisions are reported as not received.
func TestUndelivered(t *testing.T) {
	const (
		asks   = `{"type":"control_request","request_id":"%s","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}`
		echo   = `{"type":"control_response","response":{"subtype":"success","request_id":"%s"}}`
		answer = `> {"type":"response","answer_to":"%s","value":"yes"}`
		ends   = `{"type":"result","subtype":"success","result":""}`
		cancel = `{"type":"control_cancel_request","request_id":"%s"}`
		codex  = `{"method":"item/commandExecution/requestApproval","id":%s,"params":{"command":"x"}}`
		solved = `{"method":"serverRequest/resolved","params":{"requestId":%s}}`
		turned = `{"method":"turn/completed","params":{"turn":{"status":"completed"}}}`
		acp    = `{"method":"session/request_permission","id":%s,"params":{"sessionId":"S","toolCall":{"toolCallId":"1","kind":"execute"},"options":[]}}`
	)
	for _, c := range []struct {
		name, transport string
		lines           [][2]string // a format and an id
		want            []Undelivered
		pending         []string
	}{
		{"all are confirmed", "claude-code", [][2]string{{asks, "a"}, {answer, "a"}, {echo, "a"}, {ends}}, nil, nil},
		{"one is not", "claude-code", [][2]string{{asks, "a"}, {answer, "a"}, {echo, "a"}, {asks, "b"}, {answer, "b"}, {ends}}, []Undelivered{{"b", ReasonUnconfirmed}}, nil},
		{"a version that confirms nothing", "claude-code", [][2]string{{asks, "a"}, {answer, "a"}, {ends}}, nil, nil},
		{"withdrawn before the answer", "claude-code", [][2]string{{asks, "a"}, {cancel, "a"}, {answer, "a"}}, []Undelivered{{"a", ReasonClosed}}, nil},
		{"answered after the turn", "claude-code", [][2]string{{asks, "a"}, {ends}, {answer, "a"}}, []Undelivered{{"a", ReasonClosed}}, nil},
		{"the process is about to exit", "claude-code", [][2]string{{asks, "a"}, {answer, "a"}, {echo, "a"}, {asks, "c"}, {asks, "b"}, {answer, "c"}, {answer, "b"}}, nil, []string{"b", "c"}},
		{"all are confirmed", "codex", [][2]string{{codex, "1"}, {answer, "1"}, {solved, "1"}, {turned}}, nil, nil},
		{"one is not", "codex", [][2]string{{codex, "1"}, {answer, "1"}, {solved, "1"}, {codex, "2"}, {answer, "2"}, {turned}}, []Undelivered{{"2", ReasonUnconfirmed}}, nil},
		{"withdrawn before the answer", "codex", [][2]string{{codex, "1"}, {solved, "1"}, {answer, "1"}}, []Undelivered{{"1", ReasonClosed}}, nil},
		{"read is enough", "acp", [][2]string{{acp, "1"}, {answer, "1"}}, nil, nil},
		{"answered twice", "acp", [][2]string{{acp, "1"}, {answer, "1"}, {answer, "1"}}, []Undelivered{{"1", ReasonClosed}}, nil},
	} {
		a := newAdapter(t, c.transport, Vendor{}, "")
		var got []Undelivered
		for _, l := range c.lines {
			line := l[0]
			if l[1] != "" {
				line = fmt.Sprintf(l[0], l[1])
			}
			if ours, ok := strings.CutPrefix(line, "> "); ok {
				got = append(got, a.ToAgent([]byte(ours)).Lost...)
			} else {
				got = append(got, a.FromAgent([]byte(line)).Lost...)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: undelivered %v, want %v", c.transport, c.name, got, c.want)
		}
		if x, ok := a.(Confirmer); ok && !slices.Equal(x.Unconfirmed(), c.pending) {
			t.Errorf("%s, %s: unconfirmed %v, want %v", c.transport, c.name, x.Unconfirmed(), c.pending)
		}
	}
}
