package stdlib

import "sync"

// file is one row of the index: a .conc file and the names that it declares. With the index, the
// library finds a name without parsing. A test compares the index with the files.
type file struct {
	name    string
	methods string   // built-in type to which the impl blocks of the file add methods; "" if there are none
	module  string   // name of the module that the file defines; "" if it defines none
	globals []string // top-level declarations; empty if the file is a module
	whole   bool     // each declaration requires the whole file, because a struct needs its impls
}

var files = [...]file{
	{name: "prelude.conc", globals: []string{"print", "println", "__print", "__line", "len", "to_string", "typeof", "panic", "assert",
		"assert_eq", "assert_ne", "env", "parse_schema", "dispatch_tool", "__dispatching", "__dispatched", "__dispatch"}},
	{name: "records.conc", globals: []string{"Response", "TypedResponse", "Message", "LedgerEntry", "ToolContext"}},
	{name: "messages.conc", globals: messageSchemas()},
	{name: "errors.conc", globals: []string{"AgentError", "SchemaError", "ToolError", "ConnectionError", "TimeoutError",
		"HostError", "HashMapError", "EmitError", "JsonError", "HttpError", "FsError", "EnvError", "ParseError", "FormatError",
		"RuntimeError", "QueueError"}},

	{name: "testing.conc", globals: []string{"test_emits", "test_output", "mock_replies", "mock_prompts", "mock_answer", "mock_env", "mock_args", "mock_input", "mock_http", "test_requests", "mock_command", "mock_tool", "mock_file", "mock_time",
		"__mock_agent", "__mock_host", "__mock_asked", "__mock_script", "__mocked_by", "__mock_next", "__mock_by"}},
	{name: "any.conc", methods: "Any"},
	{name: "int.conc", methods: "Int"},
	{name: "float.conc", methods: "Float"},
	{name: "bool.conc", methods: "Bool"},
	{name: "string.conc", methods: "String"},
	{name: "array.conc", methods: "Array", globals: []string{"__order", "__least", "__greatest"}},
	{name: "map.conc", methods: "Map"},
	{name: "option.conc", methods: "Option"},
	{name: "result.conc", methods: "Result", globals: []string{"__with_context", "__lost", "__errors_in"}},
	{name: "range.conc", methods: "Range"},
	{name: "error.conc", methods: "Error"},
	{name: "task.conc", methods: "Task"},
	{name: "memory.conc", methods: "Memory", globals: []string{"__memory_append", "__memory_list", "__messages"}},
	{name: "hashmap.conc", methods: "HashMap", globals: []string{"__Change", "__call_watchers"}},
	{name: "ledger.conc", methods: "Ledger", globals: []string{"__ledger_find"}},
	{name: "queue.conc", methods: "Queue", globals: []string{"QueueItem", "__QueueRow", "__queue_item", "__queue_wait"}},
	{name: "ledger_query.conc", globals: []string{"LedgerQuery"}, whole: true},
	{name: "agent.conc", methods: "Agent", globals: []string{"__ToolCall", "__Said", "__Traits", "__Decorator", "__agent_traits", "__traits", "__decorated", "__timeout_error", "__request",
		"__same", "__Reply", "__agent_call", "__json_schema", "__shape_name", "__read", "__text_message", "__opening", "__knowledge",
		"__knowledge_message", "__remember", "__ask", "__mock_next_answer", "__execute_typed", "__typed", "__fitting", "__read_whole", "__restore_typed", "__sum",
		"__with_errors", "__misfit_error", "__converse", "__response", "__too_many_rounds", "__with_results"}},
	{name: "attach.conc", globals: []string{"__File", "__files", "__attach", "__with_files", "__key_form", "__no_file"}},
	{name: "stream.conc", globals: []string{"Chunk", "Stream", "__Flow", "__stream_open", "__stream_next", "__stream_close", "__stream_begin",
		"__pieces", "__stream_of", "__texts"}, whole: true},
	{name: "typed_stream.conc", globals: []string{"Part", "TypedStream", "__partial", "__partial_feed", "__typed_stream_of", "__values"}, whole: true},
	{name: "host.conc", methods: "Host", globals: []string{"__HostTraits", "__host_traits", "__of_host", "__decorated_host", "__steered", "__host_steer", "__with_schema", "__answer", "__decide",
		"__host_log", "__quoted", "__result_text", "__typed_result", "__convert", "__as_host_error", "__listen_typed",
		"__list_for", "__with_listed_tools", "__sent_tools", "__unready", "__host_tool", "__tool_call"}},
	{name: "host_stream.conc", globals: []string{"HostMessage", "HostStream", "__host_stream", "__unanswerable", "__message_open", "__message_next", "__message_refusal", "__message_wanted",
		"__message_reply", "__message_steer", "__message_leave", "__message_fail", "__message_session", "__message_read", "__has_tool", "__tool_there"}, whole: true},
	{name: "tool_calls.conc", globals: []string{"__dispatch_among", "__Function", "__tool_function", "__unlisted", "__listed", "__list_undeclared", "__with_tool_offer", "__call_tool", "__call_by_name", "__run_tools", "__run_together",
		"__is_sequential", "__try_tool", "__failing", "__step", "__run_tool", "__run_call", "__halt_error", "__failed", "__decided", "__report_repeated", "__tool_args", "__tool_text"}},
	{name: "app_calls.conc", globals: []string{"__AppTool", "__app_there", "__audited", "__caller", "__app_list", "__app_offer", "__app_named", "__call_id", "__AppAsk", "__app_prepare", "__app_leave", "__app_ask", "__Verdict", "__app_decide", "__AppResult", "__app_perform", "__audit_call", "__audit_done", "__Refused", "__refused", "__app_call", "__app_mock", "__app_mocked", "__call_unknown", "__app_question", "__app_put", "__own_call", "__no_verdict", "__own_perform", "__own_record", "__own_made", "__app_dispatch", "__all_tools"}},
	{name: "mcp.conc", globals: []string{"__mcp_open", "__mcp_next", "__mcp_reply", "__mcp_read", "__mcp_mocked", "__mcp_mocked_by",
		"__mcp_given", "__mock_mcp", "__mcp_play", "__mcp_try", "__mcp_result", "__mcp_call"}},
	{name: "mcp_records.conc", globals: []string{"McpResource", "McpTemplate", "McpContent", "McpPrompt", "McpArgument"}},
	{name: "tool.conc", methods: "Tool", globals: []string{"__mcp_server", "__mcp_list", "__mcp_call_rest", "__mcp_call_as", "__mcp_ask"}},
	{name: "decorate.conc", globals: []string{"__retry", "__wait_for_retry", "__rethrow", "__delay", "__failure", "__is_final", "__pause", "__times", "__timeout", "__expiry",
		"__finished", "__bound", "__ms", "__seconds", "__log", "__logged", "__payload", "__cache", "__recall", "__retain", "__cache_key",
		"__cache_get", "__cache_put", "__cache_read", "__cache_write", "__cache_sweep"}},
	{name: "decorate_stream.conc", globals: []string{"__decorated_flow", "__retry_flow", "__timeout_flow", "__stepped", "__log_flow", "__cache_flow"}},

	{name: "merge.conc", globals: []string{"__merge_events", "__merge_gate", "__merge_resolve", "__merge_open", "__merge_next", "__merge_reply"}},
	{name: "mod_app.conc", module: "app"},
	{name: "mod_collections.conc", module: "collections"},
	{name: "mod_crypto.conc", module: "crypto"},
	{name: "mod_csv.conc", module: "csv"},
	{name: "mod_env.conc", module: "env"},
	{name: "mod_eval.conc", module: "eval"},
	{name: "mod_fleet.conc", module: "fleet"},
	{name: "mod_fmt.conc", module: "fmt"},
	{name: "mod_fs.conc", module: "fs"},
	{name: "mod_http.conc", module: "http"},
	{name: "mod_io.conc", module: "io"},
	{name: "mod_json.conc", module: "json"},
	{name: "mod_log.conc", module: "log"},
	{name: "mod_math.conc", module: "math"},
	{name: "mod_merge.conc", module: "merge"},
	{name: "mod_path.conc", module: "path"},
	{name: "mod_prompt.conc", module: "prompt"},
	{name: "mod_random.conc", module: "random"},
	{name: "mod_regex.conc", module: "regex"},
	{name: "mod_run.conc", module: "run"},
	{name: "mod_string.conc", module: "string"},
	{name: "mod_time.conc", module: "time"},
	{name: "mod_toml.conc", module: "toml"},
	{name: "mod_tools.conc", module: "tools"},
	{name: "mod_work.conc", module: "work"},
	{name: "mod_yaml.conc", module: "yaml"},
}

// preludeFile returns the file that declares a global name, or nil if there is none.
func preludeFile(name string) *file { return preludeFiles()[name] }

var preludeFiles = sync.OnceValue(func() map[string]*file {
	n := 0
	for i := range files {
		n += len(files[i].globals)
	}
	all := make(map[string]*file, n)
	for i := range files {
		for _, n := range files[i].globals {
			if all[n] == nil {
				all[n] = &files[i]
			}
		}
	}
	return all
})
