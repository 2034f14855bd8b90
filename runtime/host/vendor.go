package host

import (
	"cmp"
	"strings"
	"time"
)

// Vendor is what the manifest says to a host that is a vendor's agent.
type Vendor struct {
	Model    string   `json:"model"`           // "" leaves it to the agent
	Mode     string   `json:"mode"`            // how it asks for permission; "" means "default"
	Settings []string `json:"settings"`        // which of its own settings it heeds; none
	Approval string   `json:"approval_policy"` // codex: when it asks; "" means "untrusted"
	Sandbox  string   `json:"sandbox"`         // codex: what it may touch; "" means "workspace-write"
	Session  string   `json:"session"`         // "fresh": each exchange begins a new conversation; "" means "keep"
}

// config is what the adapter of a host begins with. dir is an absolute path.
func (v *Vendor) config(host, dir string) vendor {
	return vendor{host: host, dir: dir, model: v.Model, mode: v.Mode, policy: cmp.Or(v.Approval, "untrusted"),
		sandbox: cmp.Or(v.Sandbox, "workspace-write"), fresh: v.Session == "fresh"}
}

// protocol is what a host may speak, a row of the table of protocols.
type protocol struct {
	command string // what is started when nothing is named
	install string // the package of npm's that has it
	flags   func(v *Vendor, resume string) []string
	adapter func(v vendor) adapter // nil: our protocol
	// apart says that a new conversation needs a new process.
	apart bool
	// name and oldest are the product's and its first version that will do, which it
	// is asked with --version; "" where the handshake says it, or nobody.
	name, oldest string

	timeout, initTimeout time.Duration // what holds when nothing is said
}

// What vendors' agents may take: a cold start of a program in npm takes up to ten seconds.
const (
	vendorTimeout     = 1800 * time.Second
	vendorInitTimeout = 60 * time.Second
)

const acpTransport = "acp"

// protocols is the table of the vendors' protocols, by transport; every other
// transport speaks ours.
var protocols = map[string]*protocol{
	"claude-code": {command: "claude", install: "@anthropic-ai/claude-code", flags: claudeFlags, adapter: func(v vendor) adapter { return newClaude(v) }, apart: true,
		name: "Claude Code", oldest: "2.1.0", timeout: vendorTimeout, initTimeout: vendorInitTimeout},
	"codex": {command: "codex", install: "@openai/codex", flags: codexFlags, adapter: func(v vendor) adapter { return newCodex(v) },
		timeout: vendorTimeout, initTimeout: vendorInitTimeout},
	acpTransport: {adapter: func(v vendor) adapter { return newACP(v) },
		timeout: vendorTimeout, initTimeout: vendorInitTimeout},
}

func claudeFlags(v *Vendor, resume string) []string {
	mode := v.Mode
	if mode == "" {
		mode = "default"
	}
	flags := []string{"-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json", "--include-partial-messages",
		"--permission-prompt-tool", "stdio", "--permission-mode", mode, "--setting-sources", strings.Join(v.Settings, ",")}
	if v.Model != "" {
		flags = append(flags, "--model", v.Model)
	}
	if resume != "" {
		flags = append(flags, "--resume", resume)
	}
	return flags
}

// codexFlags let Codex ask questions outside its plan mode; a version that does not
// know the feature ignores it.
func codexFlags(*Vendor, string) []string {
	return []string{"-c", "features.default_mode_request_user_input=true", "app-server"}
}
