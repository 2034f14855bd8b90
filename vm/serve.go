package vm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Offer is a function that a program offers to callers outside of it: a described function of a
// public tool that [permissions] allow, or a public pipeline. An @approve function is not offered,
// because no person is available to approve the call.
type Offer struct {
	Name        string // Tool_function, or with a hash if that is too long; or the name of the pipeline
	Function    string // name in the form that VM.Function accepts; "" for a pipeline
	Description string
	Parameters  json.RawMessage // JSON Schema of the parameters
	// Output is the JSON Schema of the result, which is an object. It is nil if the result is text
	// or has any type. If Wrapped is set, the result is the member `result` of that object.
	Output  json.RawMessage
	Wrapped bool
	// Pipeline is the name of the pipeline and Stages the number of its stages. Pipeline is "" for
	// a tool.
	Pipeline string
	Stages   int

	method *ToolFunction
}

// BadArguments is the error of a call whose arguments do not fit the parameters. No code of the
// program has run.
type BadArguments struct{ Message string }

func (e *BadArguments) Error() string { return e.Message }

func badArguments(o Offer, format string, args ...any) error {
	return &BadArguments{"bad arguments for " + o.Name + ": " + fmt.Sprintf(format, args...)}
}

// Offers returns the functions that the program offers, in the order of its tools and pipelines.
// withheld contains the reason for each public pipeline that is not offered.
func (m *VM) Offers() (offers []Offer, withheld []string) {
	for _, x := range NamedFunctions(m.declared.tools) {
		method := x.Function
		if method != nil && x.Tool.decl.info.Public && !method.info.Approve && m.image.permits(method) {
			o := m.image.offer(x.Name, method)
			o.Function = x.Tool.decl.info.Name + "::" + method.info.Name
			offers = append(offers, o)
		}
	}
	for _, x := range m.image.pipelines {
		if x.info.Withheld != "" {
			withheld = append(withheld, fmt.Sprintf("pipeline %s is not offered: %s", x.info.Run.Name, x.info.Withheld))
			continue
		}
		o := m.image.offer(x.info.Run.Name, &x.run)
		o.Pipeline, o.Stages = x.info.Run.Name, x.info.Stages
		offers = append(offers, o)
	}
	return offers, withheld
}

// Function returns an offer for a function of a program that was compiled so that tools can be
// created from its functions. The name is "T::m" for a function of a tool, or "f" for a function of
// the main file. problem is the reason why the function cannot be called from outside, or "".
func (m *VM) Function(name string) (o Offer, problem string) {
	var names []string
	find := func(full string, method *ToolFunction) bool {
		names = append(names, full)
		if full != name {
			return false
		}
		o = m.image.offer(strings.ReplaceAll(full, "::", "_"), method)
		o.Function = full
		return true
	}
	for _, x := range m.declared.tools {
		for i := range x.decl.methods {
			if find(x.decl.info.Name+"::"+x.decl.methods[i].info.Name, &x.decl.methods[i]) {
				return o, o.method.uncallable()
			}
		}
	}
	for i := range m.image.called {
		if find(m.image.called[i].info.Name, &m.image.called[i]) {
			return o, o.method.uncallable()
		}
	}
	if len(names) == 0 {
		return o, "it has no tools and no `pub fn`"
	}
	return o, "it has " + strings.Join(names, ", ")
}

// uncallable returns the reason why arguments for the function cannot be created from data, or ""
// if they can.
func (x *ToolFunction) uncallable() string {
	for _, p := range x.callerParameters() {
		if !isData(p.Type, map[*value.Type]bool{}) && p.Type.Kind != value.TypeAny {
			return fmt.Sprintf("its parameter `%s` has the type %s, which cannot be decoded from JSON", p.Name, p.Type)
		}
	}
	return ""
}

func (i *image) offer(name string, method *ToolFunction) Offer {
	o := Offer{Name: name, Description: method.info.Description, Parameters: method.callerSchema(), method: method}
	t := i.types[method.info.Result]
	if t.Kind == value.TypeResult && len(t.Args) > 0 {
		t = t.Args[0]
	}
	switch {
	case t.Kind == value.TypeString || t.Kind == value.TypeUnion || t.Kind == value.TypeNil || !isData(t, map[*value.Type]bool{}):
	case t.Kind == value.TypeStruct || t.Kind == value.TypeSchema || t.Kind == value.TypeMap:
		o.Output = schema.Output(t)
	default:
		o.Output, o.Wrapped = schema.Output(&value.Type{Kind: value.TypeStruct, Fields: []value.Field{{Name: "result", Type: t}}}), true
	}
	return o
}

// isData reports whether a JSON Schema can describe the values of the type.
func isData(t *value.Type, seen map[*value.Type]bool) bool {
	if seen[t] {
		return true
	}
	seen[t] = true
	switch t.Kind {
	case value.TypeInt, value.TypeFloat, value.TypeString, value.TypeBool, value.TypeNil, value.TypeUnion, value.TypeEnum,
		value.TypeArray, value.TypeMap, value.TypeTuple, value.TypeOption, value.TypeStruct, value.TypeSchema:
	default:
		return false
	}
	if t.Elements {
		return false
	}
	for _, a := range t.Args {
		if !isData(a, seen) {
			return false
		}
	}
	for _, f := range t.Fields {
		if !isData(f.Type, seen) {
			return false
		}
	}
	for _, v := range t.Variants {
		for _, f := range v.Fields {
			if !isData(f.Type, seen) {
				return false
			}
		}
	}
	return true
}

// InitTools computes the initial state of every tool. The state persists between calls.
func (m *VM) InitTools(ctx context.Context) error {
	m.memory.begin(m.image.program.Limits.MaxMemoryMB, &m.pace, m.texts.offsets.Clear)
	return m.initTools(ctx)
}

// Call is a call of an offered function from outside.
type Call struct {
	Offer Offer
	Args  json.RawMessage // a JSON object
	// About is the ToolContext for a function that has a parameter of that type, as a JSON object.
	About json.RawMessage
	// Context ends the call. Limit adds a time limit to a context; it is called when the call
	// begins to run.
	Context context.Context
	Limit   func(context.Context) (context.Context, context.CancelFunc)
	// Emitted is called for each emit of the program during the call. Done is called once at the
	// end of the call. It receives the value and the error that Run would return for main, or a
	// *BadArguments. Both functions are called on the run's goroutine. Done must not retain the
	// value.
	Emitted func(*effect.Emit)
	Done    func(value.Slot, error)
}

// serving is the state of a run that serves calls.
type serving struct {
	over    error // reason why serving has ended; set before the inbox is closed
	running map[*served]empty
	waiting []*served // calls of sequential functions that have not begun, in the order of arrival
	turn    *served   // the running call of a sequential function; nil if there is none
}

// served is a call that is running or waiting to run, and its tasks.
type served struct {
	m     *VM
	call  *Call
	ctx   context.Context
	stop  func()       // releases ctx
	args  []value.Slot // arguments of the call; nil after its begin
	root  *task
	alive int     // number of tasks that have not ended
	lost  []*task // tasks that failed while no other task waited for them
	cut   bool    // the end of ctx has ended a task
}

// Serve runs the calls that Begin adds. It ends when ctx ends, when a task panics, or when the
// performer rejects a request with an error that no program may catch. Each call is a task, which
// may start further tasks. One task runs at a time, until it waits. Calls of @sequential functions
// run one after the other. The caller must have called InitTools.
func (m *VM) Serve(ctx context.Context) error {
	m.requests.begin(ctx)
	m.serving = &serving{running: map[*served]empty{}}
	m.loop()
	err := m.endOfServing()
	m.serving.over = err
	for _, c := range append(m.requests.arrived, m.requests.inbox.close()...) {
		if c.do != nil { // calls that Begin added after the end of the loop
			c.do()
		}
	}
	for _, s := range m.serving.waiting {
		s.call.Done(value.Nil, err)
	}
	for s := range m.serving.running { // calls remain only after a violated invariant
		s.stop()
		s.call.Done(value.Nil, err)
	}
	return err
}

// endOfServing returns the reason why the VM serves no more calls.
func (m *VM) endOfServing() error {
	switch {
	case m.ending.fatal != nil:
		return m.ending.fatal
	case m.ending.panicked != nil:
		return m.uncaught(m.ending.panicked)
	}
	return context.Cause(m.requests.ctx)
}

// expectsCalls reports whether more calls may arrive.
func (m *VM) expectsCalls() bool {
	return m.serving != nil && !m.requests.cancelled && m.ending.fatal == nil && m.ending.panicked == nil
}

// Begin adds a call and returns at once. It may be called from any goroutine, also before Serve
// starts and after it has ended.
func (m *VM) Begin(c *Call) {
	if !m.requests.do(func() { m.begin(c) }) {
		c.Done(value.Nil, m.serving.over)
	}
}

// do calls f on the run's goroutine. It returns false if the run has ended.
func (r *requests) do(f func()) bool { return r.inbox.put(completion{do: f}) }

func (m *VM) begin(c *Call) {
	args, err := m.declared.callArguments(c)
	if !m.expectsCalls() {
		err = m.endOfServing()
	}
	if err != nil {
		c.Done(value.Nil, err)
		return
	}
	s := &served{m: m, call: c, args: args}
	if c.Offer.method.info.Sequential && m.serving.turn != nil {
		m.serving.waiting = append(m.serving.waiting, s)
		return
	}
	s.run()
}

// run starts the call.
func (s *served) run() {
	if s.call.Offer.method.info.Sequential {
		s.m.serving.turn = s
	}
	s.m.serving.running[s] = empty{}
	s.root = s.m.newTask(s.call.Offer.method.stub, nil, s.args...)
	s.root.served, s.alive, s.args = s, 1, nil
	ctx, cancel := s.call.Limit(s.call.Context)
	stop := context.AfterFunc(ctx, func() {
		s.m.requests.do(func() { cancelTask(s.root) })
	})
	s.ctx, s.stop = ctx, func() {
		stop()
		cancel()
	}
	s.m.sched.ready.push(s.root)
}

// isCancelled reports whether the call must end.
func (s *served) isCancelled() bool { return s != nil && s.ctx.Err() != nil }

// rootEnded cancels the other tasks of a call after the call's own task has failed. t is a task
// that has ended. s is the call of t, or nil.
func (s *served) rootEnded(t *task) {
	if s == nil || t != s.root || t.raised == nil && !isErr(t.result) {
		return
	}
	for x := s.m.sched.oldest; x != nil; {
		next := x.birth.newer
		if x.served == s {
			cancelTask(x)
		}
		x = next
	}
}

// taskEnded is called after a task of the call has ended. After the last task it passes the result
// to the caller.
func (s *served) taskEnded() {
	if s == nil {
		return
	}
	if s.alive--; s.alive > 0 {
		return
	}
	s.stop()
	delete(s.m.serving.running, s)
	ctx := s.ctx
	if s.m.requests.ctx.Err() != nil {
		ctx = s.m.requests.ctx
	}
	s.call.Done(s.m.outcome(ctx, s.root, s.lost, s.cut))
	if v := s.m.serving; v.turn == s {
		if v.turn = nil; len(v.waiting) > 0 && s.m.expectsCalls() && s.m.requests.ctx.Err() == nil {
			next := v.waiting[0]
			v.waiting = v.waiting[1:]
			next.run()
		}
	}
}

// callArguments converts a call's arguments to values. The receiver comes first.
func (d *declared) callArguments(c *Call) ([]value.Slot, error) {
	o, args := c.Offer, c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	v, err := value.Parse(args)
	if err != nil {
		return nil, badArguments(o, "%v", err)
	}
	object := value.Flatten(v).Map()
	if object == nil {
		return nil, badArguments(o, "they are not an object")
	}
	if about := o.method.contextParameter(); about != "" {
		if _, there := object.GetString(about); there {
			return nil, badArguments(o, "%s: there is no such argument", about)
		}
		text := c.About
		if len(text) == 0 {
			text = noCall
		}
		v, err := value.Parse(text)
		if err != nil {
			return nil, badArguments(o, "%s: %v", about, err)
		}
		object.SetString(about, v)
	}
	values, errs := o.method.arguments(object)
	if len(errs) > 0 {
		return nil, badArguments(o, "%s", schema.Join(errs))
	}
	if o.method.tool == nil {
		return values, nil
	}
	return append([]value.Slot{d.tools[o.method.tool.index].self}, values...), nil
}
