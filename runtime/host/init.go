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
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// Initialisation is what the manifest says of the beginning of a process.
type Initialisation struct {
	InitTimeout float64 `json:"init_timeout"` // seconds; 0 means Timeout, for a vendor's agent 60
	Init        bool    `json:"init"`         // init is sent without parameters, too
	SendTools   bool    `json:"send_tools"`   // prompts list the host's tools, also when it has not announced that it wants them
}

// hasParams says whether the host is initialised: when it has any parameter.
func (c *Config) hasParams() bool {
	return len(c.ParamsEnv) > 0 || len(bytes.Trim(c.Params, " \t\r\n{}")) > 0 && string(c.Params) != "null"
}

// initLine is the first line for a new process; nil when it has no parameters.
// It fails when a variable that a parameter comes from is not set.
func (c *Config) initLine(environ []string) ([]byte, error) {
	if c.protocol().New != nil || c.Init && !c.hasParams() {
		return ndjson.Append(nil, jsonobject.New(hostmsg.Init).End()), nil
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
			return nil, c.failure("needs the environment variable %s, which is not set: [hosts.%s.params_env] takes the parameter '%s' from it", pe.Env, c.Connector, pe.Param)
		}
		v := jsonobject.Member{Name: pe.Param, Value: value.AppendString(nil, set)}
		at := slices.IndexFunc(params, func(m jsonobject.Member) bool { return m.Name == pe.Param })
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
	return ndjson.Append(nil, o.End()), nil
}

// params are the declared parameters in their order.
func (c *Config) params() ([]jsonobject.Member, error) {
	if len(c.Params) == 0 || string(c.Params) == "null" {
		return nil, nil
	}
	all, err := jsonobject.Members(c.Params)
	if err != nil {
		return nil, fmt.Errorf("read the params of host %s: %w", c.Name, err)
	}
	return all, nil
}

// initialise sends the init line and waits for the host's acknowledgement.
func (p *process) initialise(ctx context.Context, text []byte) error {
	in := newInbox()
	p.beginTurn(&turn{in: in, one: true}, line{short: text})
	defer in.drain()
	wait := p.cfg.initTimeout()
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		b, now := in.take()
		for i := range b.msgs {
			m := &b.msgs[i]
			if p.words == nil || hostmsg.Of(m.Type).Terminal() || hostmsg.Of(m.Type).Role == hostmsg.Acknowledges {
				return p.acknowledged(m)
			}
			p.hosts.remark("debug", p.cfg, "says before it is ready: %s", stderrlog.Quote(m.Text))
		}
		if now == failed {
			return p.noAck(in.why())
		}
		select {
		case <-in.ready:
		case <-t.C:
			return p.told(p.cfg.failure("did not acknowledge initialization: it sent nothing within %s seconds", seconds(wait.Seconds())))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.hosts.closing:
			return ErrClosed
		}
	}
}

// acknowledged judges the first message of a new process.
func (p *process) acknowledged(m *effect.HostMessage) error {
	switch hostmsg.Of(m.Type).Role {
	case hostmsg.Acknowledges:
		p.announced.read(m.Text, p.words != nil)
		p.keepAck(m.Text)
		p.rest(false)
		return nil
	case hostmsg.Fails:
		return p.told(p.cfg.reported(m.Text))
	}
	return p.told(p.cfg.failure("did not acknowledge initialization: it answered %s", stderrlog.Quote(m.Text)))
}

// announcement is what a process has said of itself when it acknowledged its initialisation.
type announcement struct {
	cancels, resumes bool
	hearsTools       bool  // it is to be told of its tools
	state            State // all that it said of itself
}

// read reads an acknowledgement; a vendor's agent hears of tools in another way. A list of anything is accepted: what is no known
// name means nothing.
func (a *announcement) read(line []byte, vendor bool) {
	var ack struct {
		Version      any   `json:"version"`
		Capabilities []any `json:"capabilities"`
	}
	if json.Unmarshal(line, &ack) != nil {
		return
	}
	a.cancels = slices.Contains(ack.Capabilities, any("cancel"))
	a.hearsTools = slices.Contains(ack.Capabilities, any("tools")) && !vendor
	a.resumes = slices.Contains(ack.Capabilities, any("resume"))
	a.state.Version, _ = ack.Version.(string)
	for _, c := range ack.Capabilities {
		if name, ok := c.(string); ok {
			a.state.Capabilities = append(a.state.Capabilities, name)
		}
	}
}

// noAck is the failure of a host that ended before it acknowledged.
func (p *process) noAck(why *effect.Error) error {
	if code, _ := why.Fields["code"].(string); strings.HasPrefix(code, limitCode) || isLost(why) {
		return why
	}
	f := p.cfg.failure("did not acknowledge initialization")
	if code, ok := why.Fields["exit_code"]; ok {
		f.Message += fmt.Sprintf(": it exited with code %d", code)
	} else {
		f.Message += ": " + why.Message
	}
	return alike(f, why)
}

// reported is an `error` message as a HostError of its own words.
func (c *Config) reported(line []byte) *effect.Error {
	var e struct {
		Message     any             `json:"message"`
		Code        json.RawMessage `json:"code"`
		Recoverable *bool           `json:"recoverable"`
		Session     string          `json:"session"`
	}
	f := effect.Errorf("HostError", "%s", stderrlog.Quote(line)).With("host", c.Name)
	// A member of another type than it should be leaves the line to speak.
	if err := json.Unmarshal(line, &e); err != nil {
		return f
	}
	if s, ok := e.Message.(string); ok {
		f.Message = s
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
	in(f, e.Session)
	return f
}
