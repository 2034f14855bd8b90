package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// Tape contains the results of a run's effects (spec/25-tapes.md).
type Tape struct{ tape *tape.Tape }

// ReadTape parses a tape that Records.Tape received. The error names the invalid line.
func ReadTape(r io.Reader) (*Tape, error) {
	t, err := tape.Read(r)
	if err != nil {
		return nil, err
	}
	return &Tape{t}, nil
}

// ReadCutOffTape is ReadTape for a tape that a killed process may have left. It ignores an
// incomplete last line.
func ReadCutOffTape(r io.Reader) (*Tape, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	t, err := tape.Read(bytes.NewReader(text))
	if err != nil { // without a line end, the last line of a tape that is written by hand is valid, too
		if cut, cutErr := tape.ReadCutOff(text); cutErr == nil {
			t, err = cut, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &Tape{t}, nil
}

// Program returns the path of the recorded program's main file relative to the root of its project,
// or "" if the tape does not contain it.
func (t *Tape) Program() string { return t.tape.Program }

// Run returns the id of the recorded run.
func (t *Tape) Run() string { return t.tape.Run }

// Mode returns the format of the recorded run's output.
func (t *Tape) Mode() emit.Mode {
	if m, ok := emit.Modes[t.tape.Emit]; ok {
		return m
	}
	return emit.Text
}

// recordTape starts to record the run's tape if Records.Tape is set. end closes the tape with the
// exit code for the run's error. end returns that error, or an error of writing the tape if it is
// nil.
func (r *run) recordTape(c *vm.Config) (end func(error) error) {
	o, p, world := r.options, r.program, r.world
	if o.Records.Tape == nil {
		return func(err error) error { return err }
	}
	h := tape.Header{Run: world.ID(), Program: p.MainFile(), IR: hexsum.SHA256(p.Encode()), Args: o.Args, Inputs: o.Inputs, Seed: strconv.FormatInt(*r.seed, 10),
		Flags: tape.Flags{Asks: c.AskPerson, Tools: c.Application.Tools, Audited: c.Application.Audited}}
	if info, err := world.Perform(context.Background(), &effect.Session{}); err == nil {
		s := info.(*effect.SessionInfo)
		h.Session = &tape.Session{Cwd: s.Cwd, Metadata: s.Metadata, Render: s.Render}
	}
	h.Emit = o.Output.Mode.String()
	recorder := tape.Record(o.Records.Tape, h, world.Recorded().JSON)
	c.Durable = recorder
	return func(err error) error { return joined(err, recorder.Close(codeOf(err))) }
}

// codeOf returns the exit code that the command returns for a run that ended with err.
func codeOf(err error) int {
	var failed *vm.Uncaught
	var exit *vm.Exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	case !errors.As(err, &failed) && errors.Is(err, context.Canceled):
		return 130
	}
	return 1
}

// newSeed returns a random seed for the random numbers of a recorded run.
func newSeed() *int64 {
	var b [8]byte
	rand.Read(b[:]) // returns no error
	seed := int64(binary.LittleEndian.Uint64(b[:]))
	return &seed
}

// Replay runs the program with the results of a recorded run. It uses no network, subprocesses,
// files or clock. It uses the options Output, Log, LogLevel and Environ, which contains the secrets
// that a tape omits. unused lists the kinds of the recorded effects that the program did not
// perform, and n is the number of these effects. The error is the error of the run, or a
// *DivergedError.
func (p *Program) Replay(ctx context.Context, t *Tape, o Options) (unused []string, n int, err error) {
	r, err := p.newReplay(t, &o)
	if err != nil {
		return nil, 0, err
	}
	r.player.Show = func(ctx context.Context, e *effect.Emit) error {
		_, err := r.world.Perform(ctx, e)
		return err
	}
	err = r.run(ctx, &o)
	unused, n = r.player.Unused()
	return unused, n, cleanError(r.world, err)
}

// replaying is a replay of a tape.
type replaying struct {
	tape   *tape.Tape // with the secrets of the environment, and requests without them
	world  *runtime.Runtime
	player *tape.Player
	config vm.Config
}

// newReplay prepares the replay of a tape. It sets the options that the tape contains.
func (p *Program) newReplay(t *Tape, o *Options) (*replaying, error) {
	if t.IsSample() {
		return nil, errSampleTape
	}
	secrets := tape.NewSecrets(o.Environ)
	restored, err := t.tape.Restore(secrets.Value)
	if err != nil {
		return nil, err
	}
	h := &restored.Header
	o.Args, o.Inputs, o.Session.SessionID = h.Args, h.Inputs, h.Run
	if s := h.Session; s != nil {
		o.Session.Cwd, o.Session.Render = s.Cwd, s.Render
		if s.Metadata != nil {
			o.Session.Metadata = nil
			if err := json.Unmarshal(s.Metadata, &o.Session.Metadata); err != nil {
				return nil, fmt.Errorf("could not read the metadata of the tape: %w", err)
			}
		}
	}
	if h.Seed != "" {
		seed, err := strconv.ParseInt(h.Seed, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("could not read the seed of the tape: %w", err)
		}
		o.own.seed = &seed
	}
	config, err := p.runtimeConfig(o)
	if err != nil {
		return nil, err
	}
	if h.Flags.Numbered {
		config.Layers = append(config.Layers, numbered)
	}
	world := runtime.New(config)
	record := world.Recorded()
	secrets.AddTo(world.Secrets(), record)
	restored.Clean(record.JSON)
	player := tape.Play(restored)
	player.Clean = record.JSON
	return &replaying{restored, world, player, vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: world, Durable: player, AskPerson: h.Flags.Asks,
		Application: vm.Application{Run: world.ID(), Tools: h.Flags.Tools, Audited: h.Flags.Audited}}}, nil
}

// run runs the program to its end. The error is the error of the run, or a *DivergedError with its
// position.
func (r *replaying) run(ctx context.Context, o *Options) error {
	machine, err := vm.New(r.config)
	if err != nil {
		return firstError(fmt.Errorf("could not load the program: %w", err), r.world.Close(context.WithoutCancel(ctx)))
	}
	result, err := o.runToEnd(ctx, machine)
	if isContinued(err) {
		err = nil // a replay does not start the successor
	} else if err == nil {
		o.reportResult(result)
	}
	if err = diverged(err); ctx.Err() != nil && errors.As(err, new(*tape.DivergedError)) {
		err = context.Cause(ctx) // the tape of an interrupted run does not contain its end
	}
	return firstError(err, r.world.Close(context.WithoutCancel(ctx)))
}

// numbered is a layer that adds a number to each line of the run's output, like a durable run.
func numbered(next effect.Performer) effect.Performer {
	var n int64
	return effect.PerformerFunc(func(ctx context.Context, q effect.Request) (effect.Result, error) {
		switch q.(type) {
		case *effect.Emit, *effect.Print:
			n++
			ctx = effect.WithOutput(ctx, n)
		}
		return next.Perform(ctx, q)
	})
}

// diverged adds the source position at which the run diverged from its tape.
func diverged(err error) error {
	d, ok := errors.AsType[*tape.DivergedError](err)
	if !ok {
		return err
	}
	if at, ok := errors.AsType[*vm.Stopped](err); ok {
		if d.Place = at.Place; at.Place.Text != "" {
			d.At = fmt.Sprintf("%s:%d:%d", at.Place.File, at.Place.Line, at.Place.Column)
		}
	}
	return d
}

// environVariable returns the value of a variable in an environment ("NAME=value"). If the variable
// occurs twice, the last value is used.
func environVariable(environ []string, name string) (string, bool) {
	for _, v := range slices.Backward(environ) {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value, true
		}
	}
	return "", false
}
