//go:build !js

package adapter

import (
	"strings"
)

// claudeUnused are messages of Claude Code, by type and subtype, its requests, by subtype, and the
// content blocks of its replies.
var claudeUnused = []unused{
	{"message", Quiet, "it is the state of the process", "system/status system/worker_shutting_down keep_alive"},
	{"message", Quiet, progressOnly, "system/thinking_tokens system/task_progress system/hook_started system/hook_progress tool_progress tool_use_summary system/control_request_progress"},
	{"message", Quiet, "only a display needs it", "system/local_command_output system/commands_changed system/memory_recall prompt_suggestion active_goal"},
	{"message", Quiet, noFeature, "system/plugin_install auth_status system/files_persisted"},
	{"request", Refused, "Concerto registers no hooks", "hook_callback"},
	{"request", Refused, onlyClients, `interrupt initialize set_permission_mode set_model set_max_thinking_tokens rename_session set_color mcp_status
		get_context_usage get_session_cost list_models get_usage get_binary_version mcp_call file_suggestions rewind_files cancel_async_message read_file
		seed_read_state mcp_set_servers register_repo_root reload_plugins reload_skills reload_output_styles mcp_reconnect mcp_toggle stop_task background_tasks
		get_task_output apply_flag_settings get_settings get_hooks_listing update_settings list_permission_rules mcp_read_resource set_has_subscribers`},
	{"block", Quiet, "the stream reports the model's thoughts", "thinking redacted_thinking"},
	{"block", Quiet, "the model's provider runs the tool", `server_tool_use web_search_tool_result web_fetch_tool_result advisor_tool_result code_execution_tool_result
		bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result mcp_tool_use mcp_tool_result container_upload`},
	{"block", Quiet, "it is part of the conversation's history", "compaction fallback mcp_tool_listing"},
}

// codexUnused are notifications and requests of Codex, and the types of its items.
var codexUnused = []unused{
	{"notification", Quiet, progressOnly, `item/reasoning/summaryPartAdded turn/diff/updated item/commandExecution/outputDelta item/fileChange/outputDelta
		item/fileChange/patchUpdated item/plan/delta command/exec/outputDelta process/outputDelta process/exited hook/started hook/completed`},
	{"notification", Quiet, "it is the state of a thread", `thread/readState/changed thread/archived thread/deleted thread/unarchived thread/closed
		thread/reverted thread/name/updated thread/section/changed thread/attachment/updated thread/settings/updated thread/environment/connected thread/environment/disconnected`},
	{"notification", Quiet, "it is the state of the process", `mcpServer/startupStatus/updated skills/changed account/updated remoteControl/status/changed app/list/updated
		autoApprovalReview/strictReviewRequired turn/moderationMetadata model/verification model/safetyBuffering/updated`},
	{"notification", Quiet, noFeature, `thread/goal/updated thread/goal/cleared thread/prediction/updated thread/queue/changed project/changed thread/project/updated
		thread/search/partial mcpServer/oauthLogin/completed mcpServer/event/stream/notification account/gatewayOAuth/changed account/login/completed
		externalAgentConfig/import/progress externalAgentConfig/import/completed fs/changed fuzzyFileSearch/sessionUpdated fuzzyFileSearch/sessionCompleted
		thread/realtime/started thread/realtime/itemAdded thread/realtime/item/started thread/realtime/item/transcript/delta thread/realtime/item/completed
		thread/realtime/transcript/delta thread/realtime/transcript/done thread/realtime/outputAudio/delta thread/realtime/sdp thread/realtime/error thread/realtime/closed
		windows/worldWritableWarning windowsSandbox/setupCompleted`},
	{"request", Refused, "Concerto has no account of the vendor", "account/chatgptAuthTokens/refresh attestation/generate"},
	{"item", Quiet, "other notifications, or requests, report it", "userMessage reasoning plan dynamicToolCall"},
}

// Coverage returns the messages that Concerto knows of the agents of a transport.
func Coverage(transport string) (all []Message) {
	handle := func(kind string, names ...string) {
		for _, name := range names {
			all = append(all, Message{Kind: kind, Name: name, Use: Handled})
		}
	}
	var more []unused
	switch transport {
	case "claude-code":
		for _, row := range claudeRows {
			if row.handle != nil {
				handle("message", typeName(row.typ, row.subtype))
			}
		}
		for _, row := range claudeRequests {
			handle("request", row.subtype)
		}
		handle("block", "text", "tool_use", "tool_result")
		more = claudeUnused
	case "codex":
		for _, row := range codexRows {
			if row.handle != nil {
				handle("notification", row.method)
			}
		}
		for _, row := range codexRequests {
			handle("request", row.method)
		}
		// Items without a handler of their own are reported by their type.
		handle("item", strings.Fields(`agentMessage commandExecution fileChange mcpToolCall hookPrompt functionCallOutput collabAgentToolCall subAgentActivity webSearch imageView sleep
			imageGeneration enteredReviewMode exitedReviewMode contextCompaction`)...)
		more = codexUnused
	case TransportACP:
		for _, row := range acpRows {
			if row.handle != nil {
				handle("update", row.update)
			}
		}
		for _, row := range acpRequests {
			handle("request", row.method)
		}
		handle("notification", "session/update", "$/cancel_request", "elicitation/complete")
		more = acpUnused
	}
	for _, u := range more {
		for name := range strings.FieldsSeq(u.names) {
			all = append(all, Message{u.kind, name, u.use, u.reason})
		}
	}
	return all
}
