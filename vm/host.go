package vm

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/ir"
)

// Host is a host declaration with those keys of its manifest section that the loop of a listen
// reads. The performer reads the other keys.
type Host struct {
	*ir.Host
	Instances       int
	QuestionTimeout float64                    // time limit for an answer in seconds; 0 if there is none
	Assumed         []string                   // keys that the manifest does not set, so that their default values apply
	ReceivesTools   bool                       // every exchange announces the list of tools to the host, because the host does not speak Concerto's protocol
	MayAsk          bool                       // the host may announce that it needs the list of tools
	SchemaRepairs   int64                      // maximum number of further turns after results that do not fit the schema
	Continues       bool                       // the host reads prompts that continue an exchange
	Detaches        bool                       // background work continues after the end of an exchange
	Gate            [][]string                 // commands that prove its work; nil for none
	MaxWait         float64                    // maximum time for which an exchange waits for a limit of the host's plan, in seconds; 0 if it fails at once
	GateTimeout     float64                    // time limit of each of them in seconds; 0 for the default
	Defaults        map[string]json.RawMessage // default answers to unhandled messages, by the key hostmsg.Message.Default
}

// loadHosts reads the sections of the hosts that are not loaded yet.
func (m *loader) loadHosts() error {
	for i := len(m.hostDecls); i < len(m.program.Hosts); i++ {
		h := &m.program.Hosts[i]
		d := Host{Host: h}
		if len(h.Config) > 0 {
			if err := d.read(); err != nil {
				return fmt.Errorf("load host %s: %w", h.Name, err)
			}
		}
		m.hostDecls = append(m.hostDecls, d)
	}
	return nil
}

func (d *Host) read() error {
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(d.Config, &keys); err != nil {
		return err
	}
	var background, onPlanLimit string
	for key, to := range map[string]any{"instances": &d.Instances, "question_timeout": &d.QuestionTimeout, "assumed": &d.Assumed, "gate": &d.Gate, "gate_timeout": &d.GateTimeout, "background": &background, "on_plan_limit": &onPlanLimit, "max_wait": &d.MaxWait} {
		if v, isSet := keys[key]; isSet {
			if err := json.Unmarshal(v, to); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	var transport string
	if v, isSet := keys["transport"]; isSet {
		if err := json.Unmarshal(v, &transport); err != nil {
			return fmt.Errorf("transport: %w", err)
		}
	}
	_, init := keys["init"]
	_, variables := keys["params_env"]
	d.ReceivesTools = transport != "" && transport != "stdio" || string(keys["send_tools"]) == "true"
	d.MayAsk = init || variables || len(d.Params) > 0
	d.Detaches = background == "detach"
	if onPlanLimit == "wait" {
		d.MaxWait = cmp.Or(d.MaxWait, 86400)
	} else {
		d.MaxWait = 0
	}
	if d.Continues = d.readsJSON(keys, transport); d.Continues {
		d.SchemaRepairs = 1
		if v, isSet := keys["schema_repairs"]; isSet {
			if err := json.Unmarshal(v, &d.SchemaRepairs); err != nil {
				return fmt.Errorf("schema_repairs: %w", err)
			}
		}
	}
	d.Defaults = map[string]json.RawMessage{}
	for _, m := range hostmsg.Messages() {
		if v, isSet := keys[m.Default]; isSet && m.Default != "" {
			d.Defaults[m.Default] = v
		}
	}
	return nil
}

// readsJSON reports whether the host receives JSON. Only such a host recognizes a prompt that
// continues an exchange.
func (d *Host) readsJSON(keys map[string]json.RawMessage, transport string) bool {
	if v, isSet := keys["input_format"]; isSet {
		return string(v) == `"json"`
	}
	return string(keys["output_format"]) == `"json"` || d.MayAsk || transport != "" && transport != "stdio"
}

// defaultAnswer returns the declared default answer to messages of type row. The bool reports
// whether there is one.
func (d *Host) defaultAnswer(row *hostmsg.Message) (json.RawMessage, bool) {
	answer, ok := d.Defaults[row.Default]
	return answer, ok
}

// timeoutAnswer returns the answer to a message that was not answered in time: the default, or the
// error for the host.
func (d *Host) timeoutAnswer(typ string) (answer json.RawMessage, problem string) {
	answer, ok := d.defaultAnswer(hostmsg.Lookup(typ))
	if !ok {
		problem = typ + " timed out after " + effect.Seconds(d.QuestionTimeout)
	}
	return answer, problem
}

// openingOf builds the request that opens an exchange with a host. It includes the options that the
// program set on the host value.
func (m *VM) openingOf(d *Host, host value.Slot, prompt string) *effect.ExchangeOpen {
	r := &effect.ExchangeOpen{Host: d.Name, Prompt: prompt}
	f := host.Party()
	if c := f[value.PartyContext]; !c.IsNil() {
		r.Context = value.AppendJSON(nil, c)
	}
	if x := f[value.PartySchema]; !x.IsNil() {
		r.Schema = json.RawMessage(x.AsString())
	}
	if name := f[value.PartySession]; !name.IsNil() {
		r.Session = name.AsString()
	}
	if name := f[value.PartyWorkspace]; !name.IsNil() {
		r.Workspace = name.AsString()
	}
	r.Tools = m.toolsFor(d, host)
	if (d.ReceivesTools || d.MayAsk) && m.config.Application.Tools {
		r.Application = &effect.AppList{Only: d.AppTools}
		for _, own := range r.Tools {
			r.Application.Reserved = append(r.Application.Reserved, own.Name)
		}
		if f[value.PartyToolsOff].AsBool() {
			r.Application.Only = &[]string{}
		}
	}
	return r
}

// toolsFor returns the tools that are announced to a host.
func (m *VM) toolsFor(d *Host, host value.Slot) []effect.ToolSpec {
	if !d.ReceivesTools && !d.MayAsk {
		return nil
	}
	tools := m.toolsOf(host, &m.pace)
	if tools.Array().Len == 0 {
		return nil
	}
	return Specs(m.declared.offered(tools, &m.pace))
}

// A handler may call the host whose exchange it serves. If all processes of that host are in such
// exchanges, the handler's call waits for a free process, while every process waits for its
// handler's answer. Such a call therefore fails at once with an error, instead of when the
// exchanges time out.

// waitsForItself reports whether each process of the host of s is in an exchange whose handler
// waits for s. Such exchanges belong to the task of s and to the tasks that await it.
func (s *scope) waitsForItself() bool {
	return s.decl.isOccupiedBy(s.t)
}

// isOccupiedBy reports whether each process of the host is in an exchange whose handler waits for
// the task.
func (d *Host) isOccupiedBy(t *task) bool {
	n := 0
	eachExchange(t, map[*task]bool{}, func(decl *Host, _ int64) {
		if decl == d {
			n++
		}
	})
	return n >= max(d.Instances, 1)
}

// outerExchanges returns the numbers of the exchanges that are owned by t, or by a task that awaits
// t. They last at least as long as t waits.
func outerExchanges(t *task) (ids []int64) {
	if len(t.scopes) == 0 && len(t.watch) == 0 && t.member.group == nil && len(t.m.openResources[t]) == 0 {
		return nil
	}
	eachExchange(t, map[*task]bool{}, func(_ *Host, id int64) { ids = append(ids, id) })
	return ids
}

// eachExchange calls do for the open exchanges that are owned by t, or by a task that awaits t.
// seen contains the tasks that were visited.
func eachExchange(t *task, seen map[*task]bool, do func(d *Host, id int64)) {
	if seen[t] {
		return
	}
	seen[t] = true
	for _, o := range t.scopes {
		do(o.decl, o.id)
	}
	for _, x := range t.m.openResources[t] {
		if o := t.m.hostStreams.streamOf(x); o != nil {
			do(o.decl, o.id)
		}
	}
	if t.member.group != nil {
		eachExchange(t.member.group.t, seen, do)
	}
	for _, w := range t.watch {
		eachExchange(w.waiter(), seen, do)
	}
}

func (s *scope) busyError() value.Slot { return value.Err(programError(s.decl.busyError())) }

func (d *Host) busyError() *effect.Error {
	return effect.Errorf("HostError",
		"host '%s' is busy with the exchange whose handler calls it; use another host, or allow more processes: instances = %d in [hosts.%s]",
		d.Name, max(d.Instances, 1)+1, d.Connector).With("host", d.Name)
}

// recheckExchanges repeats the check of waitsForItself after a task has begun to await t. It checks
// the exchanges that t, and the tasks for which t waits, are opening. If no exchange is being
// opened, it returns at once: otherwise, in a chain of tasks in which each awaits the previous one,
// it would visit the whole chain for each task.
func (t *task) recheckExchanges() {
	w := t.wait
	if w == nil || t.m.requests.opening == 0 {
		return
	}
	switch w.kind {
	case waitTask:
		w.task.recheckExchanges()
	case waitGroup:
		for _, y := range w.group.members() {
			y.recheckExchanges()
		}
	case waitOpen:
		if !w.refused && w.flight != nil && w.scope.waitsForItself() {
			w.refused = true
			w.flight.cancel()
		}
	}
}

// A program may send messages to a host that works on an exchange.

// SteerHost sends a text to the host in argument 0: to the exchange whose handler the task runs, or
// to the only running exchange of the host. interrupt ends the host's current turn; see
// effect.ExchangeSteer. The result is the outcome.
func (a *Args) SteerHost(text string, interrupt bool) (value.Slot, error) {
	d := a.Host(0)
	id, err := runningExchange(a.run(), d, a.Party(0))
	if err != nil {
		return value.Nil, err
	}
	r := &effect.ExchangeSteer{ID: id, Text: text, Interrupt: interrupt}
	return a.askToSteer(d, r)
}

// HostTasks lists the background tasks of the host in argument 0, as maps; see effect.HostTasks.
func (a *Args) HostTasks(settle bool, seconds float64) (value.Slot, error) {
	d, p := a.Host(0), a.Party(0)
	r := &effect.HostTasks{Host: d.Name, Settle: settle, Seconds: seconds}
	for i, at := range map[int]*string{value.PartyWorkspace: &r.Workspace, value.PartySession: &r.Session} {
		if v := p[i]; !v.IsNil() {
			*at = v.AsString()
		}
	}
	return a.Ask(r, func(result effect.Result) (value.Slot, error) {
		return value.Parse(jsonwrite.MustEncode(result.(*effect.HostTaskList).Tasks))
	})
}

// SteerStream does the same for the exchange of the stream in argument 0.
func (a *Args) SteerStream(text string) (value.Slot, error) {
	x := a.hostStreamIn(0)
	r := &effect.ExchangeSteer{ID: x.id, Text: text}
	if x.closed || x.over || x.err != nil {
		return value.Nil, x.decl.steerError("idle", "is idle: the stream has ended")
	}
	return a.askToSteer(x.decl, r)
}

func (a *Args) askToSteer(d *Host, r *effect.ExchangeSteer) (value.Slot, error) {
	m := a.run()
	return a.Ask(r, func(result effect.Result) (value.Slot, error) {
		outcome := result.(*effect.ExchangeSteered).Outcome
		if err := recordSteering(m.sched.current, d, r, outcome); err != nil {
			return value.Nil, &endsRun{err}
		}
		return value.String(outcome), nil
	})
}

// runningExchange returns the ID of the exchange that a message to a host is for. The options of
// the host value limit the exchanges to a workspace and a session.
func runningExchange(m *VM, d *Host, p value.Party) (int64, error) {
	fits := func(workspace, session value.Slot) bool {
		return sameOption(p[value.PartyWorkspace], workspace) && sameOption(p[value.PartySession], session)
	}
	t := m.sched.current
	for i := len(t.scopes) - 1; i >= 0; i-- {
		if s := t.scopes[i]; s.run != nil && s.decl == d && fits(s.options()) {
			return s.id, nil
		}
	}
	var found []int64
	for t := m.sched.oldest; t != nil; t = t.birth.newer {
		for _, s := range t.scopes {
			if s.decl == d && s.open && !s.over && s.err == nil && fits(s.options()) {
				found = append(found, s.id)
			}
		}
	}
	for _, x := range m.hostStreams.open {
		if x.decl == d && !x.closed && !x.over && x.err == nil && fits(optionOf(x.workspace), optionOf(x.session)) {
			found = append(found, x.id)
		}
	}
	switch len(found) {
	case 0:
		return 0, d.steerError("idle", "is idle: no exchange is running")
	case 1:
		return found[0], nil
	}
	return 0, d.steerError("ambiguous", fmt.Sprintf("works on %d exchanges: use steer in a handler or of a stream, or name one by with_workspace or resume", len(found)))
}

// options returns the workspace and the session of the exchange, or nil.
func (s *scope) options() (workspace, session value.Slot) {
	p := s.host.Party()
	return p[value.PartyWorkspace], p[value.PartySession]
}

func optionOf(name string) value.Slot {
	if name == "" {
		return value.Nil
	}
	return value.String(name)
}

// sameOption reports whether an option of a host value has a value; nil means any value.
func sameOption(needed, is value.Slot) bool {
	return needed.IsNil() || !is.IsNil() && needed.AsString() == is.AsString()
}

func (d *Host) steerError(code, problem string) error {
	return value.Errorf("HostError", "%s", "host '"+d.Name+"' "+problem).With("host", value.String(d.Name)).With("code", value.String(code))
}

// recordSteering reports a message of the program to a running host. The sender is who took part in
// the handler that sent it, or the program's function.
func recordSteering(t *task, d *Host, r *effect.ExchangeSteer, outcome string) error {
	listener := t.m.observed.decisions
	if listener == nil {
		return nil
	}
	x := steeringDecision(d, r.Text, r.Interrupt, outcome)
	x.Effect, x.By, x.At = t.decisionState().effect, effect.ByHandler, t.programPlace()
	if h := t.openDecision(); h != nil {
		x.Path = h.parts
	}
	return listener.Decided(x)
}

// recordSteered reports a message of another process to a running host, which effect e has
// received.
func recordSteered(m *VM, d *Host, x *effect.HostMessage, e int64) {
	n := x.Steering()
	if n == nil || m.observed.decisions == nil {
		return
	}
	s := steeringDecision(d, n.Text, n.Interrupt, n.Outcome)
	s.Effect, s.By, s.Name = e, n.By, n.Name
	s.ID = value.AppendString(nil, n.Key)
	m.recordDecision(s)
}

func steeringDecision(d *Host, text string, interrupt bool, outcome string) *Decision {
	asked := struct {
		Text      string `json:"text"`
		Interrupt bool   `json:"interrupt,omitempty"`
	}{text, interrupt}
	return &Decision{Kind: DecidedSteer, Host: d.Name, Asked: jsonwrite.MustEncode(&asked), Answer: value.AppendString(nil, outcome)}
}
