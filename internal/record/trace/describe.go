package trace

import (
	"net/url"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// category returns the first part of an effect's kind, such as "fs" of "fs.read".
func category(r effect.Request) string {
	family, _, _ := strings.Cut(string(r.Kind()), ".")
	return family
}

// describe returns the name and the arguments of an effect in a trace. The result contains no
// prompts, payloads, answers, texts, headers, paths of URLs or arguments of commands.
func describe(r effect.Request) (name string, a args) {
	name, a = string(r.Kind()), args{}
	switch r := r.(type) {
	case *effect.AgentCall:
		name = "agent " + r.Agent
		describeCall(r, a)
	case *effect.StreamOpen:
		name = "stream " + r.Agent
		describeCall(&r.AgentCall, a)
	case *effect.StreamNext:
		name = "next piece"
	case *effect.StreamClose:
		name = "close stream"
	case *effect.ExchangeOpen:
		name = "open " + r.Host
		a["host"] = r.Host
	case *effect.ExchangeReply:
		name = "reply"
		a["to"] = r.InReplyTo
	case *effect.ExchangeSteer:
		name = "steer"
		if r.Interrupt {
			name = "interrupt"
		}
		a["bytes"] = len(r.Text)
	case *effect.ExchangeContinue:
		name = "continue"
		a["reason"], a["bytes"] = r.Reason, len(r.Prompt)
	case *effect.ExchangeGate:
		name = "gate " + r.Gate
		a["turn"] = r.Turn
	case *effect.HostTasks:
		name = "tasks of " + r.Host
		a["host"] = r.Host
	case *effect.ExchangeClose:
		name = "close"
	case *effect.Emit:
		name = "emit " + r.Channel
		a["bytes"] = len(r.Payload)
	case *effect.AwaitEmit:
		name = "await emit " + r.Channel
		a["bytes"] = len(r.Payload)
	case *effect.Print:
		a["bytes"] = len(r.Text)
	case *effect.Log:
		a["level"] = r.Level
	case *effect.Sleep:
		a["ms"] = r.Milliseconds
	case *effect.HTTP:
		a["method"] = r.Method
		if u, err := url.Parse(r.URL); err == nil {
			name = "http " + u.Host
			a["host"] = u.Host
		}
	case *effect.Command:
		name = "command " + r.Command
	case *effect.Env:
		a["name"] = r.Name
	case interface{ Workspace() string }:
		name += " " + r.Workspace()
	case interface{ At() *effect.Store }:
		name += " " + r.At().Name
		a["store"], a["file"] = r.At().Name, r.At().File
	}
	a["kind"] = string(r.Kind())
	return name, a
}

// describeCall adds the properties of a request to a model, without its texts.
func describeCall(r *effect.AgentCall, a args) {
	a["agent"], a["connection"] = r.Agent, r.Connection
	if r.Model != "" {
		a["model"] = r.Model
	}
	a["messages"], a["tools"] = len(r.Messages), len(r.Tools)
}
