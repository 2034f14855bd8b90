package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// module is a program whose functions are tools. It runs in one VM for each session, and in one for
// the global tools.
type module struct {
	program   *Program
	inspected *vm.VM // VM that is never run; it lists the program's functions
	around    Options

	mu      sync.Mutex
	running map[string]*moduleRun // by session
}

// moduleRun is a running VM of a module.
type moduleRun struct {
	holders int
	machine *vm.VM
	clean   func(error) error
	stop    context.CancelCauseFunc
	ended   chan struct{} // closed when the VM and all its processes have ended
	err     error         // reason for the end; valid after ended is closed
}

// ofProcess is the key in running for the VM of the global tools.
const ofProcess = "process"

type closer func() error

func (f closer) Close() error { return f() }

// acquire starts the VM of a session if necessary, and holds a reference until release.
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

// release drops a reference to the VM of a session. The last release stops the VM.
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

// errModuleOver is the cause that stops the VM of a module.
var errModuleOver = errors.New("the session is closed")

// endVM stops the VM and waits until it has ended.
func (r *moduleRun) endVM() error {
	r.stop(errModuleOver)
	<-r.ended
	if errors.Is(r.err, errModuleOver) {
		return nil
	}
	return r.err
}

// endAll stops all VMs of the module.
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

// sessionVM returns the running VM of a session. It starts a VM if there is none, or if the
// previous one has failed.
func (m *module) sessionVM(ctx context.Context, session string, c *tool.Context) (*moduleRun, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.running[session]
	if old != nil {
		select {
		case <-old.ended: // the program has panicked
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

// startVM starts a VM of the module with a new runtime. Its working directory is that of the
// session.
func (m *module) startVM(ctx context.Context, c *tool.Context) (*moduleRun, error) {
	o := m.around
	o.Tools, o.Inputs, o.Args, o.Records, o.own.plain = nil, nil, nil, Records{}, true
	o.Session = tool.Context{Cwd: c.Cwd, Metadata: c.Metadata, Render: c.Render}
	if c.Cwd != "" {
		o.WorkDir = c.Cwd
	}
	o.OnEmit = func(string, json.RawMessage) {} // emits are passed to the session of the call by callFunction
	o.Output = Output{To: m.around.Log}
	running, stop := context.WithCancelCause(context.Background())
	r := &moduleRun{stop: stop, ended: make(chan struct{})}
	ready := make(chan error, 1)
	go func() {
		defer close(r.ended)
		r.err = m.program.inRun(running, &o, func(x *run) error {
			r.clean = func(err error) error { return cleanError(x.world, err) }
			machine, err := vm.New(vm.Config{Program: m.program.ir, Natives: stdlib.Native, Performer: x.world, Application: x.application(), Observer: &watch{activity: x.sinks.taskActivity()}})
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
		case ready <- r.err: // the VM has failed before it was ready
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

// aboutCall is a tool.Context in the form of the program's ToolContext.
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

// about returns the ToolContext of a call as JSON.
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

// callFunction calls a function of the module in the VM of a session.
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
			// Emit returns an error for a reserved channel. Such an event is about the module's
			// program and not about the session, so it is dropped.
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
	if errors.As(failed, &over) && over.Panic || errors.As(failed, new(*vm.Exit)) {
		<-r.ended // waits for the end of the VM, so that the next call starts another
	}
	if failed != nil {
		return tool.Result{}, clientError(r.clean(failed))
	}
	return tool.Result{Success: true, Output: out}, nil
}
