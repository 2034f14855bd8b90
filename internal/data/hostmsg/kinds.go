package hostmsg

import "cmp"

// claudeKinds maps Claude Code's tools to kinds of calls.
var claudeKinds = map[string]string{
	"Read": "read", "NotebookRead": "read", "LS": "read", "BashOutput": "read", "TaskOutput": "read", "ReadMcpResourceTool": "read", "ListMcpResourcesTool": "read",
	"Glob": "search", "Grep": "search", "ToolSearch": "search", "LSP": "search",
	"Edit": "edit", "MultiEdit": "edit", "Write": "edit", "NotebookEdit": "edit",
	"Bash": "execute", "PowerShell": "execute", "KillShell": "execute", "KillBash": "execute", "Monitor": "execute",
	"WebFetch": "fetch", "WebSearch": "fetch",
	"Task": "think", "Agent": "think", "TodoWrite": "think",
}

// ClaudeKind returns the kind of a call of one of Claude Code's tools, such as "read" or "execute".
// A tool that is not listed has the kind "other".
func ClaudeKind(tool string) string { return cmp.Or(claudeKinds[tool], "other") }
