package adapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// begun returns an adapter whose handshake is complete and which has begun an exchange.
func begun(t testing.TB, transport string) Adapter {
	t.Helper()
	a := newAdapter(t, transport, Vendor{Settings: []string{"local"}}, "")
	a.ToAgent([]byte(`{"type":"init"}`))
	for _, l := range map[string][]string{
		"claude-code": {`{"type":"control_response","response":{"subtype":"success","request_id":"i1","response":{}}}`},
		"codex":       {`{"id":1,"result":{"userAgent":"concerto/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"},"model":"m"}}`},
		"acp":         {`{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"result":{"sessionId":"S"}}`},
	}[transport] {
		a.FromAgent([]byte(l))
	}
	a.ToAgent([]byte(`{"type":"prompt","text":"go"}`))
	if transport == "codex" {
		a.FromAgent([]byte(`{"id":3,"result":{"turn":{"id":"U"}}}`))
	}
	return a
}

// translateFromAgent passes a line of the agent to the adapter and returns the results as text:
// messages as they are, lines to the agent after "> ", and the name of a quiet message as "quiet
// NAME".
func translateFromAgent(t *testing.T, a Adapter, line string) string {
	t.Helper()
	s := a.FromAgent([]byte(line))
	var out []string
	for _, x := range s.Steered {
		out = append(out, fmt.Sprintf("steered %s: %v", x.ID, x.Accepted))
	}
	for _, x := range s.Refused {
		out = append(out, "refused "+x.Name)
	}
	for _, o := range s.Messages {
		if !json.Valid(o) {
			out = append(out, string(o))
			continue
		}
		out = append(out, strings.TrimSuffix(shown(t, o, line), " + payload}"))
	}
	for _, o := range s.Lines {
		out = append(out, "> "+string(o))
	}
	if s.Quiet != "" {
		out = append(out, "quiet "+s.Quiet)
	}
	return strings.Join(out, "\n")
}

// update returns an ACP notification with an update of the session.
func update(members string) string {
	return `{"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":` + members + `}}}`
}

// fromAgentTable lists lines of vendors' agents and their translations. It contains at least one
// line for each row of the adapters' tables.
var fromAgentTable = []struct{ transport, line, want string }{
	{"claude-code", `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}}`, `{"type":"partial","text":"a"}`},
	{"claude-code", `{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"whole"}]}}`, `{"type":"partial","text":"whole"}`},
	{"claude-code", `{"type":"stream_event","event":{"delta":{"type":"thinking_delta","thinking":"hm"}}}`, `{"type":"log","level":"thought","message":"hm"}`},
	{"claude-code", `{"type":"system","subtype":"informational","content":"note","level":"info"}`, `{"type":"log","level":"warn","message":"note"}`},
	{"claude-code", `Update available!`, `{"type":"log","level":"warn","message":"Update available!"}`},
	{"claude-code", `[1]`, `{"type":"log","level":"warn","message":"[1]"}`},
	{"claude-code", `{"no":"type"}`, `{"type":"log","level":"warn","message":"{\"no\":\"type\"}"}`},
	{"claude-code", `{"type":"result","subt`, `{"type":"result","subt`},
	{"claude-code", `{"type":"system","subtype":"init","model":"M","claude_code_version":"2.1.3"}`, `{"type":"progress","message":"M, Claude Code 2.1.3","stage":"start"`},
	{"claude-code", `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{"limit":1,"file_path":"a.go"}}]}}`, `{"type":"progress","message":"Read: a.go","stage":"tool"`},
	{"claude-code", `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"AskUserQuestion","input":{}},{"type":"tool_use","name":"mcp__concerto__x","input":{}}]}}`, `quiet assistant`},
	{"claude-code", `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"TodoWrite","input":{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"pending"},{"content":"c","status":"in_progress"}]}}]}}`, `{"type":"progress","message":"1 of 3: c","stage":"plan"`},
	{"claude-code", `{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"first\nsecond"}]}]}}`, `{"type":"progress","message":"first…","stage":"tool_result"`},
	{"claude-code", `{"type":"user","message":{"content":"[Request interrupted by user]"}}`, `{"type":"progress","message":"user","stage":"other"`},
	{"claude-code", `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":529,"error":"overloaded"}`, `{"type":"progress","message":"model call failed (529), attempt 1 of 10","stage":"retry"`},
	{"claude-code", `{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":null,"error":"connection"}`, `{"type":"progress","message":"model call failed (connection), attempt 2 of 10","stage":"retry"`},
	{"claude-code", `{"type":"system","subtype":"status"}`, `quiet system/status`},
	{"claude-code", `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1771390800,"rateLimitType":"five_hour"}}`, `quiet rate_limit_event`},
	{"claude-code", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1771390800,"rateLimitType":"seven_day_opus"}}`, `{"type":"plan_limit","window":"seven_day_opus","status":"reached","resets_at":"2026-02-18T05:00:00Z"`},
	{"claude-code", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1771390800000}}`, `{"type":"plan_limit","window":"plan","status":"reached"`},
	{"claude-code", `{"type":"rate_limit_event","rate_limit_info":7}`, `{"type":"progress","message":"rate_limit_event","stage":"other"`},
	{"claude-code", `{"type":"keep_alive"}`, `quiet keep_alive`},
	{"claude-code", `{"type":"system","subtype":"thinking_tokens"}`, `quiet system/thinking_tokens`},
	{"claude-code", `{"type":"system","subtype":"session_state_changed","state":"idle"}`, `quiet system/session_state_changed`},
	{"claude-code", `{"type":"system","subtype":"background_tasks_changed","tasks":[]}`, `quiet system/background_tasks_changed`},
	{"claude-code", `{"type":"system","subtype":"task_started","task_id":"t","task_type":"local_agent","description":"review"}`, `{"type":"progress","message":"agent \"review\" has started","stage":"task","task":{"id":"t","kind":"agent","name":"review","state":"running"}`},
	{"claude-code", `{"type":"system","subtype":"task_notification","task_id":"unknown","status":"completed"}`, `quiet system/task_notification`},
	{"claude-code", `{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t1","decision_reason_type":"mode","message":"no"}`, `quiet system/permission_denied`},
	{"claude-code", `{"type":"system","subtype":"hook_response","hook_name":"PreToolUse:Bash","stdout":"{}"}`, `quiet system/hook_response`},
	{"claude-code", `{"type":"system","subtype":"task_progress"}`, `quiet system/task_progress`},
	{"claude-code", `{"type":"system","subtype":"task_updated"}`, `quiet system/task_updated`},
	{"claude-code", `{"type":"system","subtype":"hook_started"}`, `quiet system/hook_started`},
	{"claude-code", `{"type":"system","subtype":"hook_progress"}`, `quiet system/hook_progress`},
	{"claude-code", `{"type":"tool_progress"}`, `quiet tool_progress`},
	{"claude-code", `{"type":"tool_use_summary"}`, `quiet tool_use_summary`},
	{"claude-code", `{"type":"command_lifecycle","command_uuid":"x","state":"queued"}`, `quiet command_lifecycle/queued`},
	{"claude-code", `{"type":"control_response","response":{"request_id":"c1","subtype":"success"}}`, `quiet control_response`},
	{"claude-code", `{"type":"stream_event","event":{"type":"message_stop"}}`, `quiet stream_event/message_stop`},
	{"claude-code", `{"type":"stream_event","event":7}`, `quiet stream_event`},
	{"claude-code", `{"type":"system","subtype":"compact_boundary"}`, `{"type":"progress","message":"the agent has shortened the conversation","stage":"compact"`},
	{"claude-code", `{"type":"system","subtype":"notification","priority":"high","text":"the disk is full"}`, `{"type":"log","level":"warn","message":"the disk is full"}`},
	{"claude-code", `{"type":"system","subtype":"notification","priority":"low","text":"a tip"}`, `quiet system/notification`},
	{"claude-code", `{"type":"system","subtype":"model_refusal_fallback","content":"Another model answers."}`, `{"type":"log","level":"warn","message":"Another model answers."}`},
	{"claude-code", `{"type":"system","subtype":"model_refusal_fallback","content":"Another model answers.","retracted_message_uuids":["unknown",7]}`, `{"type":"log","level":"warn","message":"Another model answers."}`},
	{"claude-code", `{"type":"system","subtype":"model_refusal_no_fallback","content":"The model refuses."}`, `{"type":"log","level":"warn","message":"The model refuses."}`},
	{"claude-code", `{"type":"system","subtype":"session_writes_lost","lost":["transcript"]}`, `{"type":"log","level":"warn","message":"Claude Code sends system/session_writes_lost: {\"type\":\"system\",\"subtype\":\"session_writes_lost\",\"lost\":[\"transcript\"]}"}`},
	{"claude-code", `{"type":"system","subtype":"mirror_error","error":"no space"}`, `{"type":"log","level":"warn","message":"no space"}`},
	{"claude-code", `{"type":"conversation_reset","trigger":"clear"}`, `{"type":"log","level":"warn","message":"Claude Code sends conversation_reset: {\"type\":\"conversation_reset\",\"trigger\":\"clear\"}"}`},
	{"claude-code", `{"type":"system","subtype":"hook_response","output":"x"}`, `quiet system/hook_response`},
	{"claude-code", `{"type":"system","subtype":"made_up"}`, `{"type":"progress","message":"system/made_up","stage":"other"`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback"}}`, "refused hook_callback\n" +
		`> {"response":{"error":"concerto does not support hook_callback","request_id":"r","subtype":"error"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r"}`, "refused a request without a subtype\n" +
		`> {"response":{"error":"concerto does not support a request without a subtype","request_id":"r","subtype":"error"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":7}}`, "refused can_use_tool\n" +
		`> {"response":{"error":"concerto cannot answer can_use_tool: tool_name cannot be a JSON number","request_id":"r","subtype":"error"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","message":"a text, as in other requests"}}`, "refused can_use_tool\n" +
		`> {"response":{"error":"concerto cannot answer can_use_tool: it names no tool","request_id":"r","subtype":"error"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"request_user_dialog","dialog_kind":"k"}}`, "refused request_user_dialog\n" +
		`> {"response":{"request_id":"r","response":{"behavior":"cancelled"},"subtype":"success"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"elicitation","mcp_server_name":"s","message":"Which?","mode":"form","requested_schema":{"properties":{"b":{"type":"string","description":"Name"}}}}}`,
		`{"type":"question","id":"r","question":"Which?","questions":[{"id":"b","question":"Name","options":[],"multi":false}],"schema":{"properties":{"b":{"type":"string","description":"Name"}}},"server":"s"`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"elicitation","mcp_server_name":"s","message":"Log in","mode":"url","url":"https://a.example/x","elicitation_id":"e"}}`,
		`{"type":"question","id":"r","question":"Log in\nhttps://a.example/x","options":["done","decline"],"questions":[],"url":"https://a.example/x","server":"s"`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"elicitation","mode":"url","url":"javascript:alert(1)"}}`, "refused elicitation\n" +
		`> {"response":{"error":"concerto cannot answer elicitation: \"javascript:alert(1)\" is not the address of a page","request_id":"r","subtype":"error"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"elicitation","mode":"url","url":"https://a.example/\u0007"}}`, "refused elicitation\n" +
		`> {"response":{"error":"concerto cannot answer elicitation: \"https://a.example/\\a\" is not the address of a page","request_id":"r","subtype":"error"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"elicitation","mode":"other"}}`, "refused elicitation\n" +
		`> {"response":{"error":"concerto cannot answer elicitation: the mode \"other\" is neither a form with a schema nor a page","request_id":"r","subtype":"error"},"type":"control_response"}`},
	{"claude-code", `{"type":"system","subtype":"elicitation_complete","elicitation_id":"e"}`, `quiet system/elicitation_complete`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"mcp__concerto__x","input":{"a":1}}}`,
		`{"type":"approval","id":"r","description":"mcp__concerto__x","risk_level":"high","tool":"mcp__concerto__x","kind":"other","args":{"a":1},"options":["once","deny"]`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"concerto","message":{"id":0,"method":"initialize","params":{"protocolVersion":"V"}}}}`,
		`> {"response":{"request_id":"r","response":{"mcp_response":{"id":0,"jsonrpc":"2.0","result":{"capabilities":{"tools":{}},"protocolVersion":"V","serverInfo":{"name":"concerto","version":"1"}}}},"subtype":"success"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"concerto","message":{"id":1,"method":"tools/list"}}}`,
		`> {"response":{"request_id":"r","response":{"mcp_response":{"id":1,"jsonrpc":"2.0","result":{"tools":[]}}},"subtype":"success"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"concerto","message":{"method":"notifications/initialized"}}}`,
		`> {"response":{"request_id":"r","response":{"mcp_response":{"jsonrpc":"2.0","result":{}}},"subtype":"success"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"concerto","message":{"id":2,"method":"tools/call","params":{"name":"look","arguments":{"q":1}}}}}`,
		`{"type":"tool_call","id":"r","tool":"look","args":{"q":1}}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"other","message":{"id":2,"method":"ping"}}}`, "refused mcp_message\n" +
		`> {"response":{"error":"concerto cannot answer mcp_message: concerto has no MCP server \"other\"","request_id":"r","subtype":"error"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"mcp_message","server_name":"concerto","message":{"id":2,"method":"prompts/list"}}}`, "{\"type\":\"progress\",\"message\":\"mcp/prompts/list\",\"stage\":\"other\"\n" +
		`> {"response":{"request_id":"r","response":{"mcp_response":{"error":{"code":-32601,"message":"concerto does not support prompts/list"},"id":2,"jsonrpc":"2.0"}},"subtype":"success"},"type":"control_response"}`},
	{"claude-code", `{"type":"control_cancel_request","request_id":"gone"}`, `quiet control_cancel_request`},
	{"claude-code", `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 500","session_id":"s"}`, `{"type":"error","message":"API Error: 500","code":"api_error","session":"s"`},
	{"claude-code", `{"type":"result","subtype":"error_during_execution","errors":["a","b"]}`, `{"type":"error","message":"a\nb","code":"error_during_execution"`},
	{"claude-code", `{"type":"result","subtype":"error_max_turns"}`, `{"type":"error","message":"error_max_turns","code":"error_max_turns"`},

	{"codex", `{"method":"item/agentMessage/delta","params":{"threadId":"T","itemId":"i","delta":"a"}}`, `{"type":"partial","text":"a"}`},
	{"codex", `{"method":"item/agentMessage/delta","params":{"threadId":"another","itemId":"i","delta":"a"}}`, `quiet item/agentMessage/delta`},
	{"codex", `{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"i","text":"whole"}}}`, "{\"type\":\"partial\",\"text\":\"whole\"}\nquiet item/completed/agentMessage"},
	{"codex", `{"method":"item/reasoning/summaryTextDelta","params":{"delta":"hm"}}`, `{"type":"log","level":"thought","message":"hm"}`},
	{"codex", `{"method":"item/reasoning/textDelta","params":{"delta":"hm"}}`, `{"type":"log","level":"thought","message":"hm"}`},
	{"codex", `{"method":"warning","params":{"message":"w"}}`, `{"type":"log","level":"warn","message":"w"}`},
	{"codex", `{"method":"configWarning","params":{"summary":"w"}}`, `{"type":"log","level":"warn","message":"w"}`},
	{"codex", `{"method":"deprecationNotice","params":{"summary":"w"}}`, `{"type":"log","level":"warn","message":"w"}`},
	{"codex", `{"method":"guardianWarning","params":{"threadId":"T","message":"w"}}`, `{"type":"log","level":"warn","message":"w"}`},
	{"codex", `text`, `{"type":"log","level":"warn","message":"text"}`},
	{"codex", `{"method":"turn/started","params":{"turn":{"id":"U"}}}`, `{"type":"progress","message":"m, Codex 0.169.0","stage":"start"`},
	{"codex", `{"method":"item/started","params":{"item":{"type":"commandExecution","id":"i","command":"/bin/bash -lc 'ls -la'"}}}`, `{"type":"progress","message":"command: ls -la","stage":"tool"`},
	{"codex", `{"method":"item/started","params":{"item":{"type":"mcpToolCall","id":"i","server":"s","tool":"t","arguments":{"query":"q"}}}}`, `{"type":"progress","message":"s.t: q","stage":"tool"`},
	{"codex", `{"method":"item/started","params":{"item":{"type":"fileChange","id":"i","changes":[{"path":"a"},{"path":"b"}]}}}`, `{"type":"progress","message":"fileChange: a, b","stage":"tool"`},
	{"codex", `{"method":"item/started","params":{"item":{"type":"dynamicToolCall","id":"i"}}}`, `quiet item/started/dynamicToolCall`},
	{"codex", `{"method":"item/completed","params":{"item":{"type":"fileChange","id":"i","status":"declined"}}}`, `{"type":"progress","message":"fileChange: declined","stage":"tool_result"`},
	{"codex", `{"method":"turn/plan/updated","params":{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"inProgress"}]}}`, `{"type":"progress","message":"1 of 2: b","stage":"plan"`},
	{"codex", `{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":5,"outputTokens":2}}}}`, `{"type":"progress","message":"7 tokens","stage":"usage","usage":{"tokens_in":5,"tokens_out":2,"tokens_cached":0}`},
	{"codex", `{"method":"error","params":{"error":{"message":"again"},"willRetry":true}}`, `{"type":"progress","message":"again","stage":"retry"`},
	{"codex", `{"method":"error","params":{"error":{"message":"no"},"willRetry":false}}`, `{"type":"progress","message":"error","stage":"other"`},
	{"codex", `{"method":"turn/completed","params":{"turn":{"status":"failed","error":{"message":"m"}}}}`, `{"type":"error","message":"m","code":"turn_failed","session":"T"`},
	{"codex", `{"method":"turn/completed","params":{"turn":{"status":"interrupted"}}}`, `{"type":"error","message":"the turn was interrupted","code":"interrupted","session":"T"`},
	{"codex", `{"method":"turn/completed","params":{"turn":{"status":"completed"}}}`, `{"type":"result","text":"","session":"T"`},
	{"codex", `{"method":"serverRequest/resolved","params":{"requestId":9}}`, `quiet serverRequest/resolved`},
	{"codex", `{"method":"item/commandExecution/terminalInteraction","params":{"itemId":"c1","processId":"7","stdin":"rm x\ny\n"}}`, `{"type":"progress","message":"stdin of \"a program\": rm x⏎y","stage":"tool"`},
	{"codex", `{"method":"item/commandExecution/terminalInteraction","params":{"itemId":"c1","stdin":""}}`, `quiet item/commandExecution/terminalInteraction`},
	{"codex", `{"method":"item/autoApprovalReview/started","params":{"review":{"status":"inProgress"},"action":{"type":"command","command":"/bin/bash -lc 'rm x'"}}}`, `{"type":"progress","message":"inProgress: rm x","stage":"review"`},
	{"codex", `{"method":"item/autoApprovalReview/completed","params":{"review":{"status":"denied"},"action":{"type":"execve","program":"/bin/rm","argv":["rm","x"]}}}`, `{"type":"progress","message":"denied: rm x","stage":"review"`},
	{"codex", `{"method":"thread/started","params":{}}`, `quiet thread/started`},
	{"codex", `{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"idle"}}}`, `quiet thread/status/changed`},
	{"codex", `{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":79,"windowDurationMins":300},"secondary":null}}}`, `quiet account/rateLimits/updated`},
	{"codex", `{"method":"account/updated","params":{}}`, `quiet account/updated`},
	{"codex", `{"method":"hook/started","params":{}}`, `quiet hook/started`},
	{"codex", `{"method":"skills/changed","params":{}}`, `quiet skills/changed`},
	{"codex", `{"method":"app/list/updated","params":{}}`, `quiet app/list/updated`},
	{"codex", `{"method":"mcpServer/startupStatus/updated","params":{}}`, `quiet mcpServer/startupStatus/updated`},
	{"codex", `{"method":"remoteControl/status/changed","params":{}}`, `quiet remoteControl/status/changed`},
	{"codex", `{"method":"turn/diff/updated","params":{}}`, `quiet turn/diff/updated`},
	{"codex", `{"method":"item/commandExecution/outputDelta","params":{}}`, `quiet item/commandExecution/outputDelta`},
	{"codex", `{"method":"item/fileChange/outputDelta","params":{}}`, `quiet item/fileChange/outputDelta`},
	{"codex", `{"method":"item/reasoning/summaryPartAdded","params":{}}`, `quiet item/reasoning/summaryPartAdded`},
	{"codex", `{"method":"item/fileChange/patchUpdated","params":{}}`, `quiet item/fileChange/patchUpdated`},
	{"codex", `{"method":"item/plan/delta","params":{}}`, `quiet item/plan/delta`},
	{"codex", `{"method":"command/exec/outputDelta","params":{}}`, `quiet command/exec/outputDelta`},
	{"codex", `{"method":"process/outputDelta","params":{}}`, `quiet process/outputDelta`},
	{"codex", `{"method":"model/rerouted","params":{"fromModel":"a","toModel":"b"}}`, `{"type":"log","level":"warn","message":"Codex uses the model b instead of a"}`},
	{"codex", `{"method":"modelProvider/authRecoveryStarted","params":{"message":"logging in"}}`, `{"type":"log","level":"info","message":"logging in"}`},
	{"codex", `{"method":"modelProvider/authRecoveryCompleted","params":{"message":"logged in"}}`, `{"type":"log","level":"info","message":"logged in"}`},
	{"codex", `{"method":"item/mcpToolCall/progress","params":{"message":"half"}}`, `{"type":"progress","message":"half","stage":"tool"`},
	{"codex", `{"method":"thread/compacted","params":{}}`, `{"type":"progress","message":"the agent has shortened the conversation","stage":"compact"`},
	{"codex", `{"method":"turn/moderationMetadata","params":{}}`, `quiet turn/moderationMetadata`},
	{"codex", `{"method":"made/up","params":{}}`, `{"type":"progress","message":"made/up","stage":"other"`},
	{"codex", `{"method":"currentTime/read","id":4,"params":{}}`, "refused currentTime/read\n" +
		`> {"error":{"code":-32601,"message":"concerto does not support currentTime/read"},"id":4,"jsonrpc":"2.0"}`},
	{"codex", `{"method":"mcpServer/elicitation/request","id":4,"params":{"mode":"url","url":"u"}}`, "refused mcpServer/elicitation/request\n" +
		`> {"error":{"code":-32602,"message":"concerto cannot answer mcpServer/elicitation/request: \"u\" is not the address of a page"},"id":4,"jsonrpc":"2.0"}`},
	{"codex", `{"method":"item/tool/call","id":4,"params":{"tool":"look","arguments":{"q":1}}}`, `{"type":"tool_call","id":"4","tool":"look","args":{"q":1}}`},
	{"codex", `{"id":77,"result":{}}`, `{"type":"log","level":"warn","message":"a response to an unknown request: {\"id\":77,\"result\":{}}"}`},

	{"acp", update(`"agent_message_chunk","content":{"type":"text","text":"a"}`), `{"type":"partial","text":"a"}`},
	{"acp", update(`"agent_message_chunk","content":{"type":"text","text":""}`), ``},
	{"acp", update(`"agent_message_chunk","content":{"type":"image"}`), ``},
	{"acp", update(`"agent_thought_chunk","content":{"type":"text","text":"hm"}`), `{"type":"log","level":"thought","message":"hm"}`},
	{"acp", `text`, `{"type":"log","level":"warn","message":"text"}`},
	{"acp", update(`"tool_call","toolCallId":"1","title":"go test","kind":"execute","status":"pending"`), `{"type":"progress","message":"execute: go test","stage":"tool"`},
	{"acp", update(`"tool_call_update","toolCallId":"1","title":"t","kind":"made_up"`), `{"type":"progress","message":"other: t","stage":"tool"`},
	{"acp", update(`"tool_call_update","toolCallId":"1","title":"t","kind":"read","status":"failed"`), `{"type":"progress","message":"read: t: failed","stage":"tool_result"`},
	{"acp", update(`"plan","entries":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]`), `{"type":"progress","message":"1 of 2: b","stage":"plan"`},
	{"acp", update(`"usage_update","used":7,"size":9`), `{"type":"progress","message":"7 tokens","stage":"usage"`},
	{"acp", update(`"available_commands_update"`), `quiet available_commands_update`},
	{"acp", update(`"current_mode_update"`), `quiet current_mode_update`},
	{"acp", update(`"config_option_update"`), `quiet config_option_update`},
	{"acp", update(`"session_info_update"`), `quiet session_info_update`},
	{"acp", update(`"user_message_chunk","content":{"type":"text","text":"a"}`), `quiet user_message_chunk`},
	{"acp", strings.Replace(update(`"agent_message_chunk","content":{"type":"text","text":"a"}`), `"S"`, `"another"`, 1), `quiet agent_message_chunk`},
	{"acp", update(`"notice","severity":"warning","title":"Slow","description":"the model is busy"`), `{"type":"log","level":"warn","message":"Slow: the model is busy"}`},
	{"acp", update(`"notice","title":"Hello"`), `{"type":"log","level":"info","message":"Hello"}`},
	{"acp", update(`"compaction_update","status":"completed"`), `{"type":"progress","message":"the agent has shortened the conversation","stage":"compact"`},
	{"acp", update(`"compaction_summary_chunk"`), `quiet compaction_summary_chunk`},
	{"acp", update(`"plan_removed"`), `{"type":"progress","message":"plan_removed","stage":"other"`},
	{"acp", `{"method":"elicitation/complete","params":{}}`, `{"type":"progress","message":"elicitation/complete","stage":"other"`},
	{"acp", `{"method":"fs/read_text_file","id":"f","params":{}}`, "refused fs/read_text_file\n" +
		`> {"error":{"code":-32601,"message":"concerto does not support fs/read_text_file"},"id":"f","jsonrpc":"2.0"}`},
	{"acp", `{"method":"$/cancel_request","params":{"requestId":9}}`, `quiet $/cancel_request`},
	{"acp", `{"id":3,"result":{"stopReason":"end_turn"}}`, `{"type":"result","text":"","session":"S","stop_reason":"end_turn"`},
	{"acp", `{"id":3,"result":{"stopReason":"max_tokens"}}`, `{"type":"result","text":"","session":"S","stop_reason":"max_tokens"`},
	{"acp", `{"id":3,"result":{"stopReason":"max_turn_requests"}}`, `{"type":"result","text":"","session":"S","stop_reason":"max_turn_requests"`},
	{"acp", `{"id":3,"result":{"stopReason":"refusal"}}`, `{"type":"error","message":"the exchange ended as refusal","code":"refusal","session":"S"`},
	{"acp", `{"id":3,"result":{"stopReason":"cancelled"}}`, `{"type":"error","message":"the exchange ended as cancelled","code":"cancelled","session":"S"`},
	{"acp", `{"id":3,"error":{"code":-32603,"message":"broken"}}`, `{"type":"error","message":"broken","code":"-32603","session":"S"`},
	{"acp", `{"id":3,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":4,"output_tokens":5}}}}}`,
		`{"type":"result","text":"","session":"S","usage":{"tokens_in":4,"tokens_out":5,"tokens_cached":0},"stop_reason":"end_turn"`},
	{"acp", `{"id":9,"result":{}}`, `{"type":"log","level":"warn","message":"a response to an unknown request: {\"id\":9,\"result\":{}}"}`},
}

func TestFromAgent(t *testing.T) {
	played := map[string]bool{}
	for _, c := range fromAgentTable {
		if got := translateFromAgent(t, begun(t, c.transport), c.line); got != c.want {
			t.Errorf("%s: translation of %s:\ngot  %s\nwant %s", c.transport, c.line, got, c.want)
		}
		played[c.transport+" "+c.line] = true
	}
	// Each row of the adapters' tables must be covered by a line.
	for _, row := range claudeRows {
		needs(t, played, "claude-code", `"type":"`+row.typ+`"`, `"subtype":"`+row.subtype)
	}
	for _, row := range codexRows {
		needs(t, played, "codex", `"method":"`+strings.TrimSuffix(row.method, "*"))
	}
	for _, row := range acpRows {
		needs(t, played, "acp", `"sessionUpdate":"`+row.update+`"`)
	}
}

// needs checks that a line of the transport in played contains all parts. A part that ends in `:"`
// has no value and matches every line.
func needs(t *testing.T, played map[string]bool, transport string, parts ...string) {
	t.Helper()
lines:
	for line := range played {
		for _, part := range parts {
			if !strings.HasPrefix(line, transport) || !strings.Contains(line, part) && !strings.HasSuffix(part, `:"`) {
				continue lines
			}
		}
		return
	}
	t.Errorf("%s: no row of fromAgentTable has a line with %s", transport, parts)
}

// approvals lists an approval request of each vendor, its translation, and the answers to it.
var approvals = []struct {
	transport, line, want string
	answers               [][2]string // pairs of the program's value and a part of the expected line to the agent
}{
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Edit","input":{"file_path":"a.go","new":"x"},"decision_reason":"why","permission_suggestions":[{"type":"addRules","rules":[1],"destination":"localSettings"},{"type":"setMode"}]}}`,
		`{"type":"approval","id":"r","description":"Edit: a.go","risk_level":"medium","tool":"Edit","kind":"edit","args":{"file_path":"a.go","new":"x"},"paths":["a.go"],"reason":"why","options":["once","session","always","deny"]`,
		[][2]string{
			{`true`, `"response":{"behavior":"allow","updatedInput":{"file_path":"a.go","new":"x"}}`},
			{`"session"`, `"updatedPermissions":[{"destination":"session","rules":[1],"type":"addRules"}]`},
			{`"always"`, `"updatedPermissions":[{"destination":"localSettings","rules":[1],"type":"addRules"}]`},
			{`"no"`, `{"behavior":"deny","interrupt":false,"message":"denied"}`},
			{`"use a branch"`, `{"behavior":"deny","interrupt":false,"message":"use a branch"}`},
			{`17`, `{"behavior":"deny","interrupt":false,"message":"not a decision: 17"}`},
			{`{"decision":"deny","reason":"r","stop":true}`, `{"behavior":"deny","interrupt":true,"message":"r"}`},
			{`{"decision":"allow","input":{"file_path":"b.go"}}`, `{"behavior":"allow","updatedInput":{"file_path":"b.go"}}`},
			{`{"decision":"allow","input":"b.go"}`, `"behavior":"deny"`},
			{`{"decision":"allow","args_sha256":"00"}`, `"message":"the approval is for other arguments"`},
		}},
	{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"X"}}`,
		`{"type":"approval","id":"r","description":"X","risk_level":"high","tool":"X","kind":"other","args":{},"options":["once","deny"]`,
		[][2]string{{`"always"`, `"response":{"behavior":"allow","updatedInput":{}}`}}},
	{"codex", `{"method":"item/commandExecution/requestApproval","id":0,"params":{"command":"/bin/bash -lc 'cat a'","cwd":"/work","commandActions":[{"type":"read","path":"a"}],"reason":"why"}}`,
		`{"type":"approval","id":"0","description":"command: cat a","risk_level":"low","tool":"command","kind":"read","args":{"command":"cat a","cwd":"/work"},"paths":["a"],"reason":"why","options":["once","session","deny"],"session":"T"`,
		[][2]string{
			{`"ok"`, `{"decision":"accept"}`}, {`"session"`, `{"decision":"acceptForSession"}`}, {`"always"`, `{"decision":"acceptForSession"}`},
			{`"no"`, `{"decision":"decline"}`}, {`{"decision":"deny","stop":true}`, `{"decision":"cancel"}`}, {`{"decision":"allow","input":{"command":"ls"}}`, `{"decision":"decline"}`},
		}},
	{"codex", `{"method":"item/commandExecution/requestApproval","id":0,"params":{"command":"make","proposedExecpolicyAmendment":["make"],"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{}},"cancel"]}}`,
		`{"type":"approval","id":"0","description":"command: make","risk_level":"high","tool":"command","kind":"execute","args":{"command":"make","cwd":""},"options":["once","always","deny"],"session":"T"`,
		[][2]string{
			{`"session"`, `{"decision":"accept"}`}, {`"no"`, `{"decision":"decline"}`}, {`{"decision":"deny","stop":true}`, `{"decision":"cancel"}`},
			{`"always"`, `{"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["make"]}}}`},
		}},
	{"codex", `{"method":"item/commandExecution/requestApproval","id":0,"params":{"kind":"command","networkApprovalContext":{"host":"packages.example.org","protocol":"https"},"proposedExecpolicyAmendment":["curl"],"proposedNetworkPolicyAmendments":[{"action":"deny","host":"packages.example.org"},{"action":"allow","host":"packages.example.org"}]}}`,
		`{"type":"approval","id":"0","description":"network: https packages.example.org:443","risk_level":"high","tool":"network","kind":"fetch","args":{"host":"packages.example.org","port":443,"protocol":"https"},"network":{"host":"packages.example.org","port":443,"protocol":"https"},"options":["once","session","always","deny"],"session":"T"`,
		[][2]string{
			{`"yes"`, `{"decision":"accept"}`}, {`"session"`, `{"decision":"acceptForSession"}`}, {`"no"`, `{"decision":"decline"}`},
			{`"always"`, `{"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"allow","host":"packages.example.org"}}}}`},
		}},
	{"codex", `{"method":"item/commandExecution/requestApproval","id":0,"params":{"networkApprovalContext":{"host":"a.example","protocol":"socks5Tcp"},"proposedNetworkPolicyAmendments":[{"action":"allow","host":"*"}]}}`,
		`{"type":"approval","id":"0","description":"network: socks5Tcp a.example","risk_level":"high","tool":"network","kind":"fetch","args":{"host":"a.example","protocol":"socks5Tcp"},"network":{"host":"a.example","protocol":"socks5Tcp"},"options":["once","session","deny"],"session":"T"`,
		[][2]string{{`"always"`, `{"decision":"acceptForSession"}`}}},
	{"codex", `{"method":"item/fileChange/requestApproval","id":0,"params":{"itemId":"i","reason":"why"}}`,
		`{"type":"approval","id":"0","description":"fileChange: a, b","risk_level":"high","tool":"fileChange","kind":"delete","args":{"changes":[{"path":"a","kind":{"type":"delete"}},{"path":"b","kind":{"type":"delete"}}]},"paths":["a","b"],"reason":"why","options":["once","session","deny"],"call":"i","session":"T"`,
		[][2]string{
			{`"yes"`, `{"decision":"accept"}`}, {`"always"`, `{"decision":"acceptForSession"}`}, {`"no"`, `{"decision":"decline"}`},
			{`{"decision":"deny","stop":true}`, `{"decision":"cancel"}`},
		}},
	{"codex", `{"method":"item/permissions/requestApproval","id":0,"params":{"cwd":"/work","reason":"net","permissions":{"network":{"enabled":true},"fileSystem":null}}}`,
		`{"type":"approval","id":"0","description":"permissions: net","risk_level":"high","tool":"permissions","kind":"other","args":{"cwd":"/work","permissions":{"network":{"enabled":true},"fileSystem":null}},"reason":"net","options":["once","session","deny"],"session":"T"`,
		[][2]string{
			{`"yes"`, `{"permissions":{"network":{"enabled":true}},"scope":"turn"}`}, {`"session"`, `"scope":"session"`},
			{`"no"`, `{"permissions":{},"scope":"turn"}`},
		}},
	{"codex", `{"method":"mcpServer/elicitation/request","id":0,"params":{"threadId":"T","serverName":"db","mode":"form","message":"Allow the db MCP server to run tool \"drop\"?","requestedSchema":{"type":"object","properties":{}},"_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_name":"drop","tool_params":{"table":"users"}}}}`,
		`{"type":"approval","id":"0","description":"db.drop: users","risk_level":"high","tool":"db.drop","kind":"other","args":{"table":"users"},"options":["once","session","always","deny"],"session":"T"`,
		[][2]string{
			{`"yes"`, `{"_meta":null,"action":"accept","content":{}}`}, {`"session"`, `{"_meta":{"persist":"session"},"action":"accept","content":{}}`}, {`"always"`, `{"_meta":{"persist":"always"},"action":"accept","content":{}}`},
			{`"no"`, `{"_meta":null,"action":"decline","content":null}`}, {`{"decision":"deny","stop":true}`, `"action":"cancel"`}, {`{"decision":"allow","input":{}}`, `"action":"decline"`},
		}},
	{"codex", `{"method":"execCommandApproval","id":0,"params":{"command":["bash","-lc","ls"],"cwd":"/work","parsedCmd":[{"type":"list_files"}]}}`,
		`{"type":"approval","id":"0","description":"command: ls","risk_level":"low","tool":"command","kind":"read","args":{"command":"ls","cwd":"/work"},"options":["once","session","deny"],"session":"T"`,
		[][2]string{
			{`"yes"`, `{"decision":"approved"}`}, {`"always"`, `{"decision":"approved_for_session"}`}, {`"why"`, `{"decision":{"denied":{"rejection":"why"}}}`},
			{`{"decision":"deny","stop":true}`, `{"decision":"abort"}`},
		}},
	{"codex", `{"method":"applyPatchApproval","id":0,"params":{"fileChanges":{"b":{"type":"add"},"a":{"type":"delete"}}}}`,
		`{"type":"approval","id":"0","description":"fileChange: a, b","risk_level":"medium","tool":"fileChange","kind":"edit","args":{"changes":{"a":{"type":"delete"},"b":{"type":"add"}}},"paths":["a","b"],"options":["once","session","deny"],"session":"T"`,
		[][2]string{{`"yes"`, `{"decision":"approved"}`}}},
	{"acp", `{"method":"session/request_permission","id":5,"params":{"sessionId":"S","toolCall":{"toolCallId":"1","title":"rm -r x","kind":"execute","locations":[{"path":"x"}]},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"},{"optionId":"b","name":"All","kind":"allow_always"},{"optionId":"c","name":"No","kind":"reject_once"}]}}`,
		`{"type":"approval","id":"5","description":"execute: rm -r x","risk_level":"high","tool":"execute","kind":"execute","args":{"command":"rm -r x"},"paths":["x"],"options":["once","always","deny"],"call":"1","session":"S"`,
		[][2]string{
			{`true`, `{"optionId":"a","outcome":"selected"}`}, {`"session"`, `"optionId":"a"`}, {`"always"`, `"optionId":"b"`}, {`"no"`, `"optionId":"c"`},
			{`{"decision":"deny","stop":true}`, `{"outcome":"cancelled"}`}, {`{"decision":"allow","option":"All"}`, `"optionId":"b"`},
			{`{"decision":"deny","option":"b"}`, `{"outcome":"cancelled"}`}, {`{"decision":"allow","option":"made up"}`, `{"outcome":"cancelled"}`},
			{`{"decision":"allow","input":{}}`, `"optionId":"c"`},
		}},
	{"acp", `{"method":"session/request_permission","id":5,"params":{"toolCall":{"toolCallId":"1","title":"t","kind":"edit","rawInput":{"path":"p"}},"options":[{"optionId":"b","kind":"allow_always"}]}}`,
		`{"type":"approval","id":"5","description":"edit: t","risk_level":"medium","tool":"edit","kind":"edit","args":{"path":"p"},"options":["always"],"call":"1","session":"S"`,
		[][2]string{{`"yes"`, `{"outcome":"cancelled"}`}, {`"always"`, `"optionId":"b"`}, {`"no"`, `{"outcome":"cancelled"}`}}},
}

// response returns a response to the message with the given id.
func response(id, member, value string) []byte {
	return []byte(fmt.Sprintf(`{"type":"response","in_reply_to":"x","answer_to":%q,%q:%s}`, id, member, value))
}

func TestApprovals(t *testing.T) {
	for _, c := range approvals {
		ask := func() Adapter {
			a := begun(t, c.transport)
			a.FromAgent([]byte(`{"method":"item/started","params":{"item":{"type":"fileChange","id":"i","changes":[{"path":"a","kind":{"type":"delete"}},{"path":"b","kind":{"type":"delete"}}]}}}`))
			if got := translateFromAgent(t, a, c.line); got != c.want {
				t.Fatalf("%s: translation of %s:\ngot  %s\nwant %s", c.transport, c.line, got, c.want)
			}
			return a
		}
		id := map[string]string{"claude-code": "r", "codex": "0", "acp": "5"}[c.transport]
		for _, answer := range c.answers {
			a := ask()
			s := a.ToAgent(response(id, "value", answer[0]))
			want := 1
			if c.transport == "acp" && strings.Contains(answer[0], `"stop":true`) { // the turn is cancelled, too
				want = 2
				if last := string(s.Lines[len(s.Lines)-1]); last != `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"S"}}` {
					t.Errorf("acp: the last line after a denial that stops the agent is %s", last)
				}
			}
			if len(s.Lines) != want || !strings.Contains(string(s.Lines[0]), answer[1]) {
				t.Errorf("%s: request %s\nanswered with %s: lines to the agent %s, want %s", c.transport, c.line, answer[0], s.Lines, answer[1])
			}
			if s := a.ToAgent(response(id, "value", answer[0])); len(s.Lines) != 0 {
				t.Errorf("%s: a second answer was sent to the agent: %s", c.transport, s.Lines)
			}
		}
		s := ask().ToAgent(response(id, "error", `"nobody is there"`))
		if len(s.Lines) != 1 || allows(s.Lines[0]) {
			t.Errorf("%s: a response with an error did not deny the request: %s", c.transport, s.Lines)
		}
	}
}

// TestOwnToolsAreAllowed checks that an ACP agent may call the program's tools without an
// approval. A request whose name or kind does not belong to such a call needs an approval.
func TestOwnToolsAreAllowed(t *testing.T) {
	ask := func(title, kind, option string) []byte {
		return []byte(fmt.Sprintf(`{"method":"session/request_permission","id":5,"params":{"sessionId":"S","toolCall":{"toolCallId":"1","title":%q,"kind":%q},"options":[{"optionId":"x","kind":"allow_always"},{"optionId":"y","kind":%q},{"optionId":"n","kind":"reject_once"}]}}`, title, kind, option))
	}
	for _, c := range []struct {
		title, kind, option string
		allowed             bool
	}{
		{"mcp__concerto__Calc_add", "other", "allow_once", true},
		{"mcp_concerto_Calc_add", "", "allow_once", true},
		{"concerto_Calc_add", "other", "allow_once", true},
		{"Calc_add (concerto MCP Server)", "other", "allow_once", true},
		{"mcp__concerto__Calc_add", "other", "reject_always", false},
		{"mcp__concerto__Calc_add", "execute", "allow_once", false},
		{"mcp__concerto__Calc_add", "edit", "allow_once", false},
		{"mcp__concerto__Calc_sub", "other", "allow_once", false},
		{"mcp__other__Calc_add", "other", "allow_once", false},
		{"mcp__concerto__Calc_add; rm -rf /", "other", "allow_once", false},
		{"Calc_add", "other", "allow_once", false},
		{"", "other", "allow_once", false},
	} {
		for _, known := range []bool{true, false} {
			a := newAdapter(t, TransportACP, Vendor{}, "")
			if known {
				a = newConfiguredAdapter(t, TransportACP, Vendor{})
			}
			s := a.FromAgent(ask(c.title, c.kind, c.option))
			if c.allowed && known {
				if len(s.Messages) != 0 || len(s.Lines) != 1 || !bytes.Contains(s.Lines[0], []byte(`"optionId":"y"`)) {
					t.Errorf("%+v: messages %s, lines to the agent %s, want no message and a line that allows the call", c, s.Messages, s.Lines)
				}
			} else if len(s.Lines) != 0 || len(s.Messages) != 1 || !bytes.Contains(s.Messages[0], []byte(`"type":"approval"`)) {
				t.Errorf("%+v, agent knows the program's tools: %v: messages %s, lines to the agent %s, want one approval", c, known, s.Messages, s.Lines)
			}
		}
	}
}

// TestOwnToolsOfClaudeCode checks that Claude Code may call the program's tools without an
// approval, but no other tool of a server that has the same name.
func TestOwnToolsOfClaudeCode(t *testing.T) {
	for tool, allowed := range map[string]bool{"Calc_add": true, "Calc_sub": false} {
		s := newConfiguredAdapter(t, "claude-code", Vendor{}).FromAgent([]byte(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"mcp__concerto__` + tool + `","input":{}}}`))
		if (len(s.Messages) == 0) != allowed || (len(s.Lines) == 1) != allowed {
			t.Errorf("%s: messages %s, lines %s", tool, s.Messages, s.Lines)
		}
	}
}

// allows reports whether the line, an answer to a vendor's agent, allows the agent's request.
func allows(line []byte) bool {
	for _, word := range []string{`"behavior":"allow"`, `"decision":"accept`, `"decision":"approved`, `"optionId":"a"`, `"optionId":"b"`, `"enabled":true`} {
		if bytes.Contains(line, []byte(word)) {
			return true
		}
	}
	return false
}

// TestUnclearAnswerDenies checks that every answer other than a clear yes denies the request, for
// each vendor.
func TestUnclearAnswerDenies(t *testing.T) {
	for _, c := range approvals {
		for _, value := range []string{`null`, `1`, `[]`, `["yes"]`, `{}`, `{"decision":"yes"}`, `{"approved":true}`, `"yes and no"`, `"nope"`, `""`, `{"decision":"allow","scope":"all"}`, `"allow everything"`} {
			a := begun(t, c.transport)
			a.FromAgent([]byte(c.line))
			s := a.ToAgent(response(map[string]string{"claude-code": "r", "codex": "0", "acp": "5"}[c.transport], "value", value))
			if len(s.Lines) != 1 || allows(s.Lines[0]) || !json.Valid(s.Lines[0]) {
				t.Errorf("%s: request %s\nanswered with %s: lines to the agent %s, want a denial", c.transport, c.line, value, s.Lines)
			}
		}
	}
}

// TestOrigin checks that requests contain the agent's ID of the call and of the conversation.
func TestOrigin(t *testing.T) {
	claude := func(tool string) string {
		return `{"type":"control_request","session_id":"C","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"` + tool + `","tool_use_id":"toolu_1","input":{"questions":[]}}}`
	}
	for _, c := range []struct{ transport, line, want string }{
		{"claude-code", claude("Bash"), `,"call":"toolu_1","session":"C"`},
		{"claude-code", claude("AskUserQuestion"), `,"call":"toolu_1","session":"C"`},
		{"codex", `{"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"sub","itemId":"call_1","command":"ls"}}`, `,"call":"call_1","session":"T"`},
		{"codex", `{"method":"item/commandExecution/requestApproval","id":1,"params":{"itemId":"call_1","approvalId":"a","command":"ls"}}`, `,"call":"call_1/a","session":"T"`},
		{"codex", `{"method":"item/fileChange/requestApproval","id":1,"params":{"itemId":"call_1"}}`, `,"call":"call_1","session":"T"`},
		{"codex", `{"method":"execCommandApproval","id":1,"params":{"callId":"call_1","command":["ls"]}}`, `,"call":"call_1","session":"T"`},
		{"codex", `{"method":"item/tool/requestUserInput","id":1,"params":{"itemId":"call_1","questions":[]}}`, `,"call":"call_1","session":"T"`},
		{"codex", `{"method":"mcpServer/elicitation/request","id":1,"params":{"mode":"url","url":"https://a.example","message":"m"}}`, `,"session":"T"`},
		{"acp", `{"method":"session/request_permission","id":1,"params":{"sessionId":"S","toolCall":{"toolCallId":"c","title":"t"},"options":[]}}`, `,"call":"c","session":"S"`},
	} {
		s := begun(t, c.transport).FromAgent([]byte(c.line))
		if len(s.Messages) != 1 || !strings.Contains(string(s.Messages[0]), c.want+`,"payload"`) {
			t.Errorf("%s: translation of %s = %s, want a message with %s", c.transport, c.line, s.Messages, c.want)
		}
	}
	s := begun(t, "codex").FromAgent([]byte(`{"method":"new/request","id":1,"params":{}}`))
	if len(s.Refused) != 1 || s.Refused[0].Session != "T" {
		t.Errorf("refused requests = %+v, want one of the session T", s.Refused)
	}
}

// TestBareCommand checks that an approval shows the command that Codex's shell runs, in each form
// of quotes that Codex uses, and that rules therefore compare this command.
func TestBareCommand(t *testing.T) {
	for line, want := range map[string]string{
		`/bin/bash -lc ls`:                             `ls`,
		`/bin/bash -lc 'touch made.txt'`:               `touch made.txt`,
		`/usr/bin/sh -c 'touch a b'`:                   `touch a b`,
		`/bin/bash -lc "echo it\\'s \"q\" 'x y' > z"`:  `echo it\'s "q" 'x y' > z`,
		`/bin/bash -lc 'cd s; echo '"'it'\\''s' "'!x'`: `cd s; echo 'it'\''s' !x`,
		`/bin/bash -lc 'a'\''b'`:                       `a'b`,
		"/bin/zsh -lc \"\\$HOME \\`date\\`\"":          "$HOME `date`",
		`/bin/bash -lc "rm $x"`:                        `"rm $x"`,
		`/bin/bash -lc 'rm`:                            `'rm`,
		`/bin/bash -lc rm -rf x`:                       `rm -rf x`,
		`rm -rf x`:                                     `rm -rf x`,
	} {
		if got := bareCommand(line); got != want {
			t.Errorf("bareCommand(%s) = %s, want %s", line, got, want)
		}
	}
}
