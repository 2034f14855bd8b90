package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/internal/text/jsonread"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// Initialisation holds the manifest's keys for the initialisation of a process.
type Initialisation struct {
	InitTimeout float64 `json:"init_timeout"` // seconds; 0 means Timeout, or 60 for a vendor's agent
	Init        bool    `json:"init"`         // send init also without parameters
	// prompts list the program's tools even if the host has not announced that it uses them
	SendTools bool `json:"send_tools"`
}

// hasParams reports whether the host has parameters. A host with parameters is initialised.
func (c *Config) hasParams() bool {
	return len(c.ParamsEnv) > 0 || len(bytes.Trim(c.Params, " \t\r\n{}")) > 0 && string(c.Params) != "null"
}

// initLine returns the first line for a new process, or nil if the host has no parameters. It fails
// if a variable in ParamsEnv is not set. trace is the position in the trace.
func (c *Config) initLine(environ []string, trace []effect.Header) ([]byte, error) {
	if c.protocol().New != nil || c.Init && !c.hasParams() {
		return initWith(jsonobject.New(hostmsg.Init), trace), nil
	}
	if !c.hasParams() {
		return nil, nil
	}
	params, err := c.params()
	if err != nil {
		return nil, err
	}
	for _, pe := range c.ParamsEnv {
		set, ok := procgroup.LookupEnv(environ, pe.Env)
		if !ok {
			return nil, c.errorf("needs the environment variable %s, which is not set: [hosts.%s.params_env] takes the parameter '%s' from it", pe.Env, c.Connector, pe.Param)
		}
		v := jsonread.Member{Name: pe.Param, Value: value.AppendString(nil, set)}
		at := slices.IndexFunc(params, func(m jsonread.Member) bool { return m.Name == pe.Param })
		if at < 0 {
			params = append(params, v)
		} else {
			params[at] = v
		}
	}
	all := []byte{'{'}
	for i, m := range params {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(value.AppendString(all, m.Name), ':')
		all = append(all, m.Value...)
	}
	o := jsonobject.New(hostmsg.Init)
	o.Raw("params", append(all, '}'))
	return initWith(o, trace), nil
}

// initWith returns the line of an init message with the position in the trace.
func initWith(o *jsonobject.Object, trace []effect.Header) []byte {
	if members := effect.TraceMembers(trace); members != nil {
		o.Raw("trace", jsonwrite.MustEncode(members))
	}
	return ndjson.Append(nil, o.End())
}

// params returns the declared parameters in order.
func (c *Config) params() ([]jsonread.Member, error) {
	if len(c.Params) == 0 || string(c.Params) == "null" {
		return nil, nil
	}
	all, err := jsonobject.Members(c.Params)
	if err != nil {
		return nil, fmt.Errorf("could not read the params of host %s: %w", c.Name, err)
	}
	return all, nil
}

// initialise sends the init line and waits until the host acknowledges it.
func (p *process) initialise(ctx context.Context, text []byte) error {
	in := newInbox()
	p.beginSegment(&segment{inbox: in, isInit: true}, line{short: text})
	defer in.discardAll()
	wait := p.cfg.initTimeout()
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		b, now := in.takeBatch()
		for i := range b.msgs {
			m := &b.msgs[i]
			if p.translation == nil || hostmsg.Lookup(m.Type).Terminal() || hostmsg.Lookup(m.Type).Role == hostmsg.Acknowledges {
				return p.handleInitReply(m)
			}
			p.hosts.logf("debug", p.cfg, "sent before it was ready: %s", stderrlog.Quote(m.Text))
		}
		if now == inboxFailed || now == inboxTimedOut {
			return p.noAckError(in.failureError())
		}
		select {
		case <-in.ready:
		case <-t.C:
			return p.addContext(p.cfg.errorf("did not acknowledge initialization: it sent nothing within %s", effect.Seconds(wait.Seconds())))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.hosts.closing.Done():
			return ErrClosed
		}
	}
}

// handleInitReply handles a message that a new process sends before it is ready.
func (p *process) handleInitReply(m *effect.HostMessage) error {
	switch hostmsg.Lookup(m.Type).Role {
	case hostmsg.Acknowledges:
		p.announced.parseAck(m.Text, p.translation != nil)
		p.noteAck(m.Text)
		p.release(false)
		return nil
	case hostmsg.Fails:
		f := p.cfg.reportedError(m.Text)
		f.Message = "host init failed: " + strings.TrimPrefix(f.Message, "host '"+p.cfg.Name+"': ")
		return p.addContext(f)
	}
	return p.addContext(p.cfg.errorf("did not acknowledge initialization: it answered %s", stderrlog.Quote(m.Text)))
}

// announcement holds the capabilities and version that a process reported in its acknowledgement.
type announcement struct {
	cancels, resumes bool
	steers           bool        // the host receives messages while it works on a turn
	wantsTools       bool        // the host's prompts must list the tools
	result           ProbeResult // version and capabilities for `concerto host list`
}

// parseAck reads an acknowledgement. vendor means that a vendor's agent sent it, whose prompts
// never list the tools. parseAck ignores unknown capabilities.
func (a *announcement) parseAck(line []byte, vendor bool) {
	var ack struct {
		Version      any   `json:"version"`
		Capabilities []any `json:"capabilities"`
	}
	if json.Unmarshal(line, &ack) != nil {
		return
	}
	a.cancels = slices.Contains(ack.Capabilities, any("cancel"))
	a.steers = slices.Contains(ack.Capabilities, any("steer"))
	a.wantsTools = slices.Contains(ack.Capabilities, any("tools")) && !vendor
	a.resumes = slices.Contains(ack.Capabilities, any("resume"))
	a.result.Version, _ = ack.Version.(string)
	for _, c := range ack.Capabilities {
		if name, ok := c.(string); ok {
			a.result.Capabilities = append(a.result.Capabilities, name)
		}
	}
}

// noAckError is the error of a host that exited before it acknowledged.
func (p *process) noAckError(why *effect.Error) error {
	if code, _ := why.Fields["code"].(string); strings.HasPrefix(code, limitCode) || isLostError(why) {
		return why
	}
	f := p.cfg.errorf("did not acknowledge initialization")
	if code, ok := why.Fields["exit_code"]; ok {
		f.Message += fmt.Sprintf(": it exited with code %d", code)
	} else {
		f.Message += ": " + why.Message
	}
	return copyContext(f, why)
}

// reportedError converts an `error` message to a HostError.
func (c *Config) reportedError(line []byte) *effect.Error {
	var e struct {
		Message     any             `json:"message"`
		Code        json.RawMessage `json:"code"`
		Recoverable *bool           `json:"recoverable"`
		Session     string          `json:"session"`
	}
	f := c.errorf("reported an error")
	// If a member has the wrong type, the error quotes the whole line.
	if err := json.Unmarshal(line, &e); err != nil {
		f.Message += ": " + stderrlog.Quote(line)
		return f
	}
	switch s, ok := e.Message.(string); {
	case ok && strings.HasPrefix(s, "host '"+c.Name+"'"):
		f.Message = s
	case ok && s != "":
		f.Message = "host '" + c.Name + "': " + s
	case e.Message != nil:
		f.Message += ": " + stderrlog.Quote(line)
	}
	if len(e.Code) > 0 && string(e.Code) != "null" {
		var s string
		if json.Unmarshal(e.Code, &s) != nil {
			s = string(e.Code)
		}
		f.With("code", s)
	}
	if e.Recoverable != nil {
		f.With("recoverable", *e.Recoverable)
	}
	withSession(f, e.Session)
	return f
}
