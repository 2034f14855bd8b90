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

// module is a program whose functions are tools. It runs in one VM for each session, and in another
// for global tools.
type module struct {
	program   *Program
	inspected *vm.VM // never runs: shows what the program contains
	around    Options

	mu      sync.Mutex
	running map[string]*moduleRun // by session
}

// moduleRun is a VM of a module, with the number of tools that use it.
type moduleRun struct {
	holders int
	machine *vm.VM
	clean   func(error) error
	stop    context.CancelCauseFunc
	ended   chan struct{} // closed when everything in it has ended
	err     error         // the reason
}

// ofProcess is the key of the VM for global tools.
const ofProcess = "process"

type closer func() error

func (f closer) Close() error { return f() }

// acquire prevents the end of the session's VM until it is released.
func (m *module) acquire(ctx context.Context, session string, c *tool.Context) error {
	r, err := m.sessionVM(ctx, session, c)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r.holders++
	return nil
}

// release ends the session's VM when no tool uses it.
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
	return r.endVM()
}

// errModuleOver ends a module's VM.
var errModuleOver = errors.New("the session is closed")

// endVM ends the VM and waits for its end.
func (r *moduleRun) endVM() error {
	r.stop(errModuleOver)
	<-r.ended
	if errors.Is(r.err, errModuleOver) {
		return nil
	}
	return r.err
}

// endAll ends all VMs.
func (m *module) endAll() error {
	m.mu.Lock()
	all := m.running
	m.running = map[string]*moduleRun{}
	m.mu.Unlock()
	var errs []error
	for _, r := range all {
		errs = append(errs, r.endVM())
	}
	return errors.Join(errs...)
}

// sessionVM returns the VM of a session, and starts one if there is none or the last one has
// failed.
func (m *module) sessionVM(ctx context.Context, session string, c *tool.Context) (*moduleRun, error) {
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
	r, err := m.startVM(ctx, c)
	if err != nil {
		return nil, err
	}
	if old != nil {
		r.holders = old.holders
	}
	m.running[session] = r
	return r, nil
}

// startVM starts a VM of the module in its own runtime, in the session's directory.
func (m *module) startVM(ctx context.Context, c *tool.Context) (*moduleRun, error) {
	o := m.around
	o.Tools, o.Inputs, o.Args, o.Records, o.own.plain = nil, nil, nil, Records{}, true
	o.Session = tool.Context{Cwd: c.Cwd, Metadata: c.Metadata, Render: c.Render}
	if c.Cwd != "" {
		o.WorkDir = c.Cwd
	}
	o.OnEmit = func(string, json.RawMessage) {} // emits go to the session of the call
	o.Output = Output{To: m.around.Log}
	running, stop := context.WithCancelCause(context.Background())
	r := &moduleRun{stop: stop, ended: make(chan struct{})}
	ready := make(chan error, 1)
	go func() {
		defer close(r.ended)
		r.err = m.program.inWorld(running, &o, func(world *runtime.Runtime, f *following) error {
			r.clean = func(err error) error { return cleanError(world, err) }
			machine, err := vm.New(vm.Config{Program: m.program.ir, Natives: stdlib.Native, Performer: world, Application: applicationFor(world, &o), Observer: observer(f.observers(nil))})
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
		case ready <- r.err: // it has failed before it was ready
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

// aboutCall is a ToolContext in the program's form.
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

// about returns the ToolContext for a function that has such a parameter.
func about(c *tool.Context) (json.RawMessage, error) {
	t := c.CallInfo()
	a := aboutCall{t.SessionID, t.Cwd, t.Environment, t.Metadata, t.CallID, t.By, t.Route, c.Chain, c.Render}
	if a.Chain == nil {
		a.Chain = []string{}
	}
	if a.Render == nil {
		a.Render = []string{}
	}
	return json.Marshal(a)
}

// callFunction calls a function in the session's VM.
func (m *module) callFunction(ctx context.Context, session, function string, input json.RawMessage, c *tool.Context) (tool.Result, error) {
	r, err := m.sessionVM(ctx, session, c)
	if err != nil {
		return tool.Result{}, err
	}
	message, err := about(c)
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
	r.machine.Begin(&vm.Call{Offer: offer, Args: input, About: message, Context: ctx,
		Limit: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return budget.Run(ctx, nil, m.program.ir.Limits.MaxRunSeconds)
		},
		Emitted: func(e *effect.Emit) {
			// A reserved channel reports what this program does, which does not concern the
			// session.
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
		<-r.ended // the next call uses another VM
	}
	if failed != nil {
		return tool.Result{}, clientError(r.clean(failed))
	}
	return tool.Result{Success: true, Output: out}, nil
}
