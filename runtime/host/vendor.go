package host

import (
	"path/filepath"
	"strings"
	"sync"
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

// protocol is what a host may speak, a row of the table of protocols.
type protocol struct {
	command string // what is started when nothing is named
	install string // the package of npm's that has it
	flags   func(c *Config, resume string) []string
	adapter func(v vendor) adapter // nil: our protocol
	// apart says that a new conversation needs a new process.
	apart bool
	// name and oldest are the product's and its first version that will do, which it
	// is asked with --version; "" where the handshake says it, or nobody.
	name, oldest string

	timeout, initTimeout time.Duration // what holds when nothing is said
}

// ourProtocol is that of spec/host-protocol.md.
var ourProtocol = &protocol{timeout: DefaultTimeout, initTimeout: DefaultInitTimeout}

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

// protocol is what the host speaks.
func (c *Config) protocol() *protocol {
	if p := protocols[c.Transport]; p != nil {
		return p
	}
	return ourProtocol
}

func claudeFlags(c *Config, resume string) []string {
	mode := c.Vendor.Mode
	if mode == "" {
		mode = "default"
	}
	flags := []string{"-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json", "--include-partial-messages",
		"--permission-prompt-tool", "stdio", "--permission-mode", mode, "--setting-sources", strings.Join(c.Vendor.Settings, ",")}
	if c.Vendor.Model != "" {
		flags = append(flags, "--model", c.Vendor.Model)
	}
	if resume != "" {
		flags = append(flags, "--resume", resume)
	}
	return flags
}

// codexFlags let Codex ask questions outside its plan mode; a version that does not
// know the feature ignores it.
func codexFlags(*Config, string) []string {
	return []string{"-c", "features.default_mode_request_user_input=true", "app-server"}
}

// started is the configuration with the command line as it is started.
func (c *Config) started(resume string) *Config {
	p, run := c.protocol(), *c
	run.Command = Program(c)
	if p.flags != nil {
		run.Args = append(append([]string(nil), c.Args...), p.flags(c, resume)...)
	}
	return &run
}

// vendor is what the host's adapter begins with.
func (c *Config) vendor(w wish) (vendor, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return vendor{}, c.failure("cannot be started in '%s': %v", c.Dir, err)
	}
	v := vendor{host: c.Name, dir: dir, model: c.Vendor.Model, mode: c.Vendor.Mode, policy: c.Vendor.Approval, sandbox: c.Vendor.Sandbox,
		serves: c.Permissions != nil, fresh: c.Vendor.Session == "fresh", resume: w.session, tools: w.tools}
	if v.policy == "" {
		v.policy = "untrusted"
	}
	if v.sandbox == "" {
		v.sandbox = "workspace-write"
	}
	return v, nil
}

// translation is a process's adapter in use: its reader and those who send to it take
// turns. A process that speaks our protocol has none.
type translation struct {
	mu    sync.Mutex
	a     adapter
	heard int64 // the number of the line that it has heard last
}

// dated notes with errands which line the adapter had heard last when they came.
func (t *translation) dated(all []errand) []errand {
	for i := range all {
		all[i].heard = t.heard
	}
	return all
}

// conversation is the host's name for the conversation, as last heard; "" when there
// is none.
func (p *process) conversation() string {
	if name := p.talk.Load(); name != nil {
		return *name
	}
	return ""
}

// goesOnWith notes the conversation that an exchange goes on with. An adapter knows
// by itself.
func (p *process) goesOnWith(session string) {
	if session != "" && p.words == nil {
		p.talk.Store(&session)
	}
}

// send sends a line of ours, in the vendor's words if the host is one, beyond the
// outbox's limit when force is set. It gives the offset of its first byte in all that
// was sent, and whether it fitted.
func (p *process) send(text []byte, force bool) (offset int64, ok bool) {
	return p.sendLine(line{short: text}, force)
}

func (p *process) sendLine(l line, force bool) (offset int64, ok bool) {
	if p.repeated(&l) {
		return 0, true
	}
	t := p.words
	if t == nil {
		return p.out.put(l, force)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !force && p.out.full() {
		return 0, false
	}
	ours := l.bytes()
	s := t.a.say(ours)
	f := p.saying(l.frame, ours)
	f.sides = p.sides(s.bridged)
	offset, ok = p.out.put(line{short: lines(s.theirs), frame: f}, true)
	p.serve(t.dated(s.errands))
	p.door.answer(s.bridged)
	return offset, ok
}
