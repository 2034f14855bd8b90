package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// module is a program whose functions are tools. It runs in a VM of its own for each
// session, and in one more for those that are global.
type module struct {
	program *Program
	looked  *vm.VM // never run: what the program has
	around  Options

	mu      sync.Mutex
	running map[string]*moduleRun // by session
}

// moduleRun is a VM of a module, with how many tools hold it.
type moduleRun struct {
	holders int
	machine *vm.VM
	clean   func(error) error
	stop    context.CancelCauseFunc
	ended   chan struct{} // closed when all of it has ended
	err     error         // why
}

// ofProcess is the VM of tools that are global.
const ofProcess = "process"

type closer func() error

func (f closer) Close() error { return f() }

// hold has the session's VM run until it is released.
func (m *module) hold(ctx context.Context, session string, c *tool.Context) error {
	r, err := m.run(ctx, session, c)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r.holders++
	return nil
}

// release ends the session's VM when nobody holds it any more.
func (m *module) release(session string) error {
	m.mu.Lock()
	r := m.running[session]
	if r == nil {
		m.mu.Unlock()
		return nil
	}
	r.holders--
	last := r.holders <= 0
	if last {
		delete(m.running, session)
	}
	m.mu.Unlock()
	if !last {
		return nil
	}
	return r.end()
}

// errModuleOver ends a module's VM.
var errModuleOver = errors.New("the session has ended")

// end ends the VM and waits for that.
func (r *moduleRun) end() error {
	r.stop(errModuleOver)
	<-r.ended
	if errors.Is(r.err, errModuleOver) {
		return nil
	}
	return r.err
}

// close ends all that runs.
func (m *module) close() error {
	m.mu.Lock()
	all := m.running
	m.running = map[string]*moduleRun{}
	m.mu.Unlock()
	var errs []error
	for _, r := range all {
		errs = append(errs, r.end())
	}
	return errors.Join(errs...)
}

// run gives the VM of a session, started when there is none or the last one has died.
func (m *module) run(ctx context.Context, session string, c *tool.Context) (*moduleRun, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.running[session]
	if old != nil {
		select {
		case <-old.ended: // its program has panicked
		default:
			return old, nil
		}
	}
	r, err := m.start(ctx, c)
	if err != nil {
		return nil, err
	}
	if old != nil {
		r.holders = old.holders
	}
	m.running[session] = r
	return r, nil
}

// start runs a VM of the module in a world of its own, at the session's directory.
func (m *module) start(ctx context.Context, c *tool.Context) (*moduleRun, error) {
	o := m.around
	o.Tools, o.Inputs, o.Args, o.Records, o.own.plain = nil, nil, nil, Records{}, true
	o.Session = tool.Context{Cwd: c.Cwd, Metadata: c.Metadata, Render: c.Render}
	if c.Cwd != "" {
		o.WorkDir = c.Cwd
	}
	o.OnEmit = func(string, json.RawMessage) {} // the call's session is told
	o.Output = Output{To: m.around.Log}
	running, stop := context.WithCancelCause(context.Background())
	r := &moduleRun{stop: stop, ended: make(chan struct{})}
	ready := make(chan error, 1)
	go func() {
		defer close(r.ended)
		r.err = m.program.inWorld(running, &o, func(world *runtime.Runtime, f *following) error {
			r.clean = func(err error) error { return clean(world, err) }
			machine, err := vm.New(vm.Config{Program: m.program.ir, Natives: stdlib.Native, Performer: world, Application: around(world, &o), Observer: observer(f.observers(nil))})
			if err == nil {
				err = machine.InitTools(running)
			}
			if err != nil {
				return err
			}
			r.machine = machine
			ready <- nil
			return machine.Serve(running)
		})
		select {
		case ready <- r.err: // it has not got that far
		default:
		}
	}()
	select {
	case err := <-ready:
		if err != nil {
			stop(err)
			<-r.ended
			return nil, err
		}
		return r, nil
	case <-ctx.Done():
		stop(context.Cause(ctx))
		<-r.ended
		return nil, context.Cause(ctx)
	}
}

// aboutCall is a ToolContext as the program sees it.
type aboutCall struct {
	SessionID   string            `json:"session_id"`
	Cwd         string            `json:"cwd"`
	Environment map[string]string `json:"environment"`
	Metadata    map[string]any    `json:"metadata"`
	CallID      string            `json:"call_id"`
	Caller      string            `json:"caller"`
	Route       string            `json:"route"`
	Chain       []string          `json:"chain"`
	Render      []string          `json:"render"`
}

// about is what a function with a ToolContext is told.
func about(c *tool.Context) (json.RawMessage, error) {
	t := c.Told()
	a := aboutCall{t.SessionID, t.Cwd, t.Environment, t.Metadata, t.CallID, t.By, t.Route, c.Chain, c.Render}
	if a.Chain == nil {
		a.Chain = []string{}
	}
	if a.Render == nil {
		a.Render = []string{}
	}
	return json.Marshal(a)
}

// call calls a function in the session's VM.
func (m *module) call(ctx context.Context, session, function string, input json.RawMessage, c *tool.Context) (tool.Result, error) {
	r, err := m.run(ctx, session, c)
	if err != nil {
		return tool.Result{}, err
	}
	said, err := about(c)
	if err != nil {
		return tool.Result{}, err
	}
	offer, problem := r.machine.Function(function)
	if problem != "" {
		return tool.Result{}, errors.New(problem)
	}
	var out json.RawMessage
	var failed error
	done := make(chan struct{})
	r.machine.Begin(&vm.Call{Offer: offer, Args: input, About: said, Context: ctx,
		Limit: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return budget.Run(ctx, nil, m.program.ir.Limits.MaxRunSeconds)
		},
		Emitted: func(e *effect.Emit) {
			// A channel of the runtime's own says what this program does, which is no matter of the session.
			_ = c.Emit(e.Channel, e.Payload)
		},
		Done: func(v value.Slot, err error) {
			if failed = err; err == nil {
				out = value.AppendJSON(nil, v)
			}
			close(done)
		}})
	<-done
	var over *vm.Uncaught
	if errors.As(failed, &over) && over.Panic {
		<-r.ended // the next call is another VM's
	}
	if failed != nil {
		return tool.Result{}, told(r.clean(failed))
	}
	return tool.Result{Success: true, Output: out}, nil
}
