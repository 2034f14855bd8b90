//go:build !js

package adapter

// Protocols contains the vendors' protocols, by transport. Every other transport uses the host
// protocol.
var Protocols = map[string]*Protocol{
	"claude-code": {Command: "claude", Install: "@anthropic-ai/claude-code", Flags: claudeFlags, Environ: claudeEnviron, New: func(v Config) Adapter { return newClaude(v) }, OneConversation: true, SchemaAtStart: true,
		Product: "Claude Code", Oldest: "2.1.0", Timeout: vendorTimeout, InitTimeout: vendorInitTimeout},
	"codex": {Command: "codex", Install: "@openai/codex", Flags: codexFlags, New: func(v Config) Adapter { return newCodex(v) }, Confirms: true,
		Timeout: vendorTimeout, InitTimeout: vendorInitTimeout},
	// claude-agent-acp passes the variable to Claude Code, and reports no tasks. Other agents
	// ignore it.
	TransportACP: {Environ: func(*Vendor) []string { return []string{claudeForeground} }, New: func(v Config) Adapter { return newACP(v) },
		Timeout: vendorTimeout, InitTimeout: vendorInitTimeout},
}
