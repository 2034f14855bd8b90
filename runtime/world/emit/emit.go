// Package emit performs a program's output: emits, printed text, and awaited emits with the answers
// that the command line provides (spec/11-emit.md).
//
// Output is ordered and complete. The output of a request precedes that of the next request and is
// written as soon as possible; Close writes the rest. No other package writes to the output.
package emit

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/eventtext"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Options configure a Sink.
type Options struct {
	Mode Mode
	Out  io.Writer // standard output; only one goroutine writes to it
	// Terminal means that Out is a terminal: control characters are escaped.
	Terminal bool
	// Viewed means that a live view next to Out shows the progress of the run.
	Viewed bool
	// Listed means that permanent lines show what hosts do, so that Events does not receive it.
	Listed bool
	// Events receives the events of the runtime and the library, if Mode is Text and Out is not a
	// terminal: the channel, and "[channel] text" on one line. Output that precedes an event is
	// written before. nil means that Out receives them as JSON.
	Events func(channel, line string)
	// Synchronous means that an emit or print returns after it was written, because others write
	// to the same file: their lines and those of the program are then in its order.
	Synchronous bool
	// Detail, if not zero, is the start time of the run. Output then contains its time, task and
	// exchange (see detail.go).
	Detail time.Time

	// Answers contains the values of `--answer channel=value`. If a channel has several, the last
	// one is used.
	Answers []Fixed
	// Handler is the command of `--emit-handler`, executed by sh; "" means none. It runs in
	// HandlerDir with the environment Environ, as "NAME=value".
	Handler    string
	HandlerDir string
	Environ    []string
	Run        *procgroup.Run // owns the process; may be nil
	PassEnv    []string       // variables of Environ in addition to those of every process
	// Prompter asks the user at the terminal; nil without a terminal.
	Prompter Prompter
	// Stdin is the standard input if it is not a terminal. std::io reads it. If there is no
	// Prompter, its lines answer awaited emits. nil means an empty input.
	Stdin io.Reader
	// Elsewhere reaches the remote users; nil without remote users.
	Elsewhere Elsewhere
	// Log receives the lines of the handler's standard error; nil drops them.
	Log func(line string)
	// Remark receives a line for each message of a host that nothing handles; nil drops them.
	Remark func(line string)
}

// Fixed is a predefined answer. The text Value answers every awaited emit on Channel after
// conversion to the type that the program requires. If JSON is not nil, it is used instead of
// Value.
type Fixed struct {
	Channel string
	Value   string
	JSON    json.RawMessage
}

// ErrNoReader means that the reader of the output has closed it.
var ErrNoReader = errors.New("could not write the output: its reader was closed (broken pipe)")

// Sink performs output. It is safe for concurrent use.
type Sink struct {
	out      *output
	format   format
	reads    bool                       // events are written in a form for people
	viewed   bool                       // a live view shows the progress of the run
	listed   bool                       // see Options.Listed
	events   func(channel, line string) // see Options.Events
	sync     bool                       // see Options.Synchronous
	detail   time.Time
	answers  []answerer
	handler  *handler // nil without --emit-handler
	prompter Prompter // nil without a terminal
	// receives all output for remote users; nil without them
	elsewhere Elsewhere
	remark    func(line string) // see Options.Remark

	answering sync.WaitGroup // counts the awaited emits that Start has begun
}

// New returns a Sink. It starts no process: the first emit that needs the handler starts it.
func New(o Options) *Sink {
	s := &Sink{out: newOutput(o.Out), format: formats[o.Mode], detail: o.Detail, prompter: o.Prompter, viewed: o.Viewed, listed: o.Listed, sync: o.Synchronous, elsewhere: o.Elsewhere, remark: o.Remark}
	if o.Terminal {
		s.format = onTerminal[o.Mode]
		s.reads = o.Mode == Text
	} else if o.Mode == Text {
		s.events = o.Events
	}
	if len(o.Answers) > 0 {
		s.answers = append(s.answers, newFixed(o.Answers))
	}
	if o.Handler != "" {
		s.handler = newHandler(&o)
		s.answers = append(s.answers, s.handler)
	}
	if s.prompter == nil && o.Stdin != nil {
		s.prompter = newStdin(o.Stdin)
	}
	if s.prompter != nil || o.Elsewhere != nil {
		s.answers = append(s.answers, users{s.prompter, o.Elsewhere})
	}
	return s
}

// Perform performs emits, awaited emits, prints, inputs, and the requests of hosts that a person
// answers. An awaited emit without an answer fails with an *effect.Error of kind EmitError. If
// output cannot be written, Perform returns a Go error such as ErrNoReader, which ends the run.
func (s *Sink) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.Emit:
		if s.elsewhere != nil {
			s.elsewhere.Emitted(r.Channel, r.Payload, false)
		}
		if s.remark != nil && r.Channel == eventtext.UnhandledChannel {
			if e, ok := eventtext.Read(r.Channel, r.Payload); ok {
				s.remark("nothing handles a message: " + e.Text)
			}
		}
		return nil, s.printEmit(ctx, r)
	case *effect.Print:
		if s.elsewhere != nil {
			s.elsewhere.Printed(r.Text, r.Newline)
		}
		return nil, s.printText(ctx, r)
	case *effect.AwaitEmit:
		return s.emitAndAwait(ctx, r)
	case *effect.Input:
		return s.input(ctx, r)
	case *effect.AskHost:
		return s.askHost(ctx, r)
	}
	return nil, &effect.UnperformedError{Who: "emits", Kind: r.Kind()}
}

func (s *Sink) printEmit(ctx context.Context, r *effect.Emit) error {
	write := s.format.emit
	if write == nil {
		return nil
	}
	payload := r.Payload
	text, isEvent := s.eventText(r)
	switch {
	case !isEvent:
	case text == "":
		return nil
	case s.events != nil:
		err := s.out.flushOutput(ctx)
		s.events(r.Channel, terminal.Escape("["+r.Channel+"] "+strings.Join(strings.Fields(text), " ")))
		return err
	default:
		payload = value.AppendString(nil, text)
	}
	return s.putOut(ctx, r.From, func(b []byte, d *detail) []byte {
		payload := payload
		if d != nil {
			payload = d.withDetail(r.Channel, payload)
		}
		return write(b, r.Channel, payload)
	})
}

// eventText returns the text of an emit that is an event of the runtime or the library, if the
// output shows such events as text. It is "" if the live view, a prompt or the error of the run
// shows the event.
func (s *Sink) eventText(r *effect.Emit) (text string, ok bool) {
	if !s.reads && s.events == nil && (r.Channel != eventtext.ProgressChannel || s.format.lines) {
		return "", false
	}
	e, ok := eventtext.Read(r.Channel, r.Payload)
	_, prompts := s.prompter.(HostPrompter)
	switch {
	case e.Asks && prompts, e.Moved && s.viewed, e.Listed && s.listed && s.events != nil:
		return "", ok
	case e.Line != "" && s.events != nil && !s.viewed:
		return e.Line, ok
	}
	return e.Text, ok
}

func (s *Sink) printText(ctx context.Context, r *effect.Print) error {
	write := s.format.print
	if write == nil {
		return nil
	}
	return s.putOut(ctx, r.From, func(b []byte, _ *detail) []byte { return write(b, r) })
}

// putOut writes the bytes that write appends. If details are configured, putOut passes a detail to
// write and adds it to lines that are objects.
func (s *Sink) putOut(ctx context.Context, from *effect.From, write func(b []byte, d *detail) []byte) error {
	n := effect.OutputOf(ctx)
	var d *detail
	if !s.detail.IsZero() {
		d = s.newDetail(from)
	}
	err := s.out.appendOutput(ctx, func(b []byte) []byte {
		b = write(b, d)
		if d != nil && s.format.lines {
			b = d.appendDetail(b)
		}
		return s.addNumber(b, n)
	})
	if err == nil && s.sync {
		err = s.out.flushOutput(ctx)
	}
	return err
}

// addNumber adds the emit's number to a line that is an object, if the emit has a number.
func (s *Sink) addNumber(b []byte, n int64) []byte {
	if n == 0 || !s.format.lines {
		return b
	}
	b = append(b[:len(b)-len("}\n")], `,"n":`...)
	return append(strconv.AppendInt(b, n, 10), "}\n"...)
}

// emitAndAwait prints the emit like any other emit, and then waits for its answer.
func (s *Sink) emitAndAwait(ctx context.Context, r *effect.AwaitEmit) (effect.Result, error) {
	if r.Misfit != "" {
		return s.awaitAnswer(ctx, r, "")
	}
	id := s.awaited(r)
	if effect.IsSent(ctx) {
		return s.awaitAnswer(ctx, r, id)
	}
	if err := s.printEmit(ctx, &effect.Emit{Channel: r.Channel, Payload: r.Payload, From: r.From}); err != nil {
		return nil, err
	}
	return s.awaitAnswer(ctx, r, id)
}

// awaited reports an awaited emit to remote users. It returns the ID under which they can be asked
// to answer it.
func (s *Sink) awaited(r *effect.AwaitEmit) (id string) {
	if s.elsewhere == nil {
		return ""
	}
	return s.elsewhere.Emitted(r.Channel, r.Payload, true)
}

// Start prints an awaited emit immediately, so that its position in the output corresponds to the
// program's order. The answer arrives while the program continues. ok is false for other requests,
// which the caller passes to Perform.
func (s *Sink) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	if q, ok := r.(*effect.AskHost); ok {
		return s.beginAnswer(ctx, done, func(ctx context.Context) (effect.Result, error) { return s.askHost(ctx, q) }), true
	}
	a, ok := r.(*effect.AwaitEmit)
	if !ok {
		return nil, false
	}
	if a.Asks != nil && a.Asks.Secret {
		return s.beginAnswer(ctx, done, func(ctx context.Context) (effect.Result, error) { return s.askSecret(ctx, a) }), true
	}
	var id string
	if a.Misfit == "" {
		id = s.awaited(a)
		if !effect.IsSent(ctx) {
			if err := s.printEmit(ctx, &effect.Emit{Channel: a.Channel, Payload: a.Payload, From: a.From}); err != nil {
				done(nil, err)
				return func() {}, true
			}
		}
		if v, now, err := s.presetAnswer(a.Channel); now {
			done(v, err)
			return func() {}, true
		}
	}
	return s.beginAnswer(ctx, done, func(ctx context.Context) (effect.Result, error) { return s.awaitAnswer(ctx, a, id) }), true
}

// beginAnswer requests an answer in the background. Questions reach the user in the order of the
// calls of beginAnswer.
func (s *Sink) beginAnswer(ctx context.Context, done func(effect.Result, error), ask func(context.Context) (effect.Result, error)) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	ctx, leave := s.joinQueue(ctx)
	s.answering.Go(func() {
		result, err := ask(ctx)
		leave()
		done(result, err)
		stop()
	})
	return stop
}

// presetAnswer returns the answer on a channel if no user has to be asked; now reports whether
// there is one. Awaited emits receive such answers in the order of the emits.
func (s *Sink) presetAnswer(channel string) (v effect.Result, now bool, err error) {
	rest := s.answers
	if len(rest) > 0 {
		if f, ok := rest[0].(fixed); ok {
			if v := f[channel]; v != nil {
				return v, true, nil
			}
			rest = rest[1:]
		}
	}
	if len(rest) == 0 {
		return nil, true, noHandlerError(channel)
	}
	return nil, false, nil
}

func noHandlerError(channel string) error {
	return emitError(channel, noListener, "no handler for the emit on channel '%[1]s': use --answer %[1]s=VALUE or --emit-handler COMMAND, or run in a terminal", channel)
}

// awaitAnswer waits for the answer to an awaited emit that was printed. id is the emit's ID for
// remote users.
func (s *Sink) awaitAnswer(ctx context.Context, r *effect.AwaitEmit, id string) (effect.Result, error) {
	if err := s.out.flushOutput(ctx); err != nil {
		return nil, err
	}
	for _, a := range s.answers {
		if _, person := a.(users); r.Misfit != "" && !person {
			continue // only a user can be asked a second time
		}
		v, err := a.answer(ctx, r, id)
		if err != nil {
			return nil, err
		}
		if v != nil {
			return v, nil
		}
	}
	return nil, noHandlerError(r.Channel)
}

// Flush returns when all output so far is written or ctx ends.
func (s *Sink) Flush(ctx context.Context) error { return s.out.flushOutput(ctx) }

// Progress returns the number of bytes of output so far, and the number of those that are written.
func (s *Sink) Progress() (added, written int64) { return s.out.byteCounts() }

// Close writes the rest of the output, ends the handler and its process group, and waits for both.
// When ctx ends, the handler is killed and unwritten output is lost. Close returns the error of
// writing the output.
func (s *Sink) Close(ctx context.Context) error {
	s.answering.Wait()
	err := s.out.closeOutput(ctx)
	if s.handler != nil {
		s.handler.closeProcess(ctx)
	}
	return err
}

// Reasons why an awaited emit fails. They are the values of the field `reason` of its error.
const (
	noListener = "no_listener"
	refused    = "refused"
)

func emitError(channel, reason, format string, args ...any) *effect.Error {
	return effect.Errorf("EmitError", format, args...).With("channel", channel).With("reason", reason)
}
