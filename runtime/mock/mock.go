// Package mock implements the environment of a test (spec/16-tests.md). It is a layer around the
// runtime. The layer records the output of the test, plays the mocked agents and hosts, provides a
// clock, and prevents access to the network and to processes unless the test run is live.
//
// A World belongs to one test. If the VM uses its method Choose, a test behaves the same way in
// every run: requests are performed one after another, and time advances only when all tasks wait.
package mock

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Options configures a World.
type Options struct {
	// Live permits the test to use, in real time, the agents, hosts and other services that it does
	// not mock.
	Live bool
	// Sample means that the World belongs to a sample of an eval, in addition to Live. The sample
	// has no arguments, input and random secrets except those of the World, and the runtime answers
	// the emits that no mock answers.
	Sample bool
	// Hosts contains the hosts of the program, by the names of their declarations.
	Hosts map[string]Host
	// Seed is the seed of the test's random secrets.
	Seed int64
	// Tape answers requests that no mock answers; nil for none.
	Tape Tape
}

// Tape is a recording that answers requests of a test.
type Tape interface {
	// Perform returns the recorded result of a request. If the result is missing and must be
	// recorded, Perform calls next and records its result. Otherwise found is false.
	Perform(ctx context.Context, r effect.Request, next effect.Performer) (result effect.Result, found bool, err error)
	// RecordCall records a tool call that had effects outside the test.
	RecordCall(r *effect.AppCall, result effect.Result)
	// Closes reports whether a request that was not found must not be performed, although the
	// request needs no mock.
	Closes(effect.Request) bool
	// Why returns the reason why the last request was not found, and how to record it.
	Why() string
}

// World is the environment of a test. It is safe for concurrent use.
type World struct {
	options Options

	mu        sync.Mutex
	agents    map[string]*agent
	hosts     map[string]*host
	exchanges map[int64]*exchange
	streams   map[int64]*stream
	opened    int64 // number of streams that were opened
	answers   map[string][]json.RawMessage
	process   process
	web       script[*effect.HTTP, effect.HTTPResponse]
	requested []httpRequest // HTTP requests of the test
	shell     script[*effect.Command, effect.CommandOutput]
	files     map[string]*file // files of the test, by cleaned path
	secrets   *rand.ChaCha8
	record    Record // recorded data except the output
	output    []byte
	prompts   map[string][]string
	clock     clock
	left      []string // unused parts of mocks that were replaced by other mocks
}

// process is the simulated process of the test. input is the unread part of its standard input.
type process struct {
	env   map[string]*effect.EnvValue
	args  []string
	input string
}

// Record is the recorded output of a test.
type Record struct {
	Emits  []Emit
	Output string   // printed text
	Log    []string // log lines like "warn: text"
	// Files are the paths of the real files and directories that the test read, in order and in the
	// spelling of the test.
	Files []string
	// Drew reports whether the test used random numbers, which the seed determines.
	Drew bool
}

// Emit is a value that the test has emitted. Payload is nil if the emit had none.
type Emit struct {
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload"`
}

// New returns the World of a test.
func New(o Options) *World {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], uint64(o.Seed))
	w := &World{options: o, agents: map[string]*agent{}, hosts: map[string]*host{}, exchanges: map[int64]*exchange{}, streams: map[int64]*stream{},
		answers: map[string][]json.RawMessage{}, process: process{env: map[string]*effect.EnvValue{}}, files: map[string]*file{}, prompts: map[string][]string{},
		web: newScript[*effect.HTTP, effect.HTTPResponse](nil), shell: newScript[*effect.Command, effect.CommandOutput](lineOf),
		secrets: rand.NewChaCha8(key), clock: newClock()}
	w.web.name = w.answerTo
	return w
}

// Missing is the error for a request for an outside service that the test has not mocked. It ends
// the test.
type Missing struct {
	What string // what is missing, like "agent `Writer`"
	Mock string // text that describes the mock to add
	Why  string // problem with the test's tape; "" without one
}

func (e *Missing) Error() string {
	text := fmt.Sprintf("%s has no mock: add `%s` to the test before this call, or run it with --live", e.What, e.Mock)
	if e.Why != "" {
		text += "\n" + e.Why
	}
	return text
}

// performUnmocked performs a request that no mock answers, with the tape or for real. missing is
// the error to return if the test must not perform the request; nil means that it may.
func (w *World) performUnmocked(ctx context.Context, r effect.Request, next effect.Performer, missing *Missing) (effect.Result, error) {
	if w.options.Live {
		return next.Perform(ctx, r)
	}
	if t := w.options.Tape; t != nil {
		if result, found, err := t.Perform(ctx, r, next); found {
			return result, err
		}
		if missing == nil && t.Closes(r) {
			missing = &Missing{What: string(r.Kind()) + " of `" + pathOf(r) + "`", Mock: fmt.Sprintf("mock_file(%q, …)", pathOf(r))}
		}
		if missing != nil {
			missing.Why = t.Why()
		}
	}
	if missing != nil {
		return nil, missing
	}
	return next.Perform(ctx, r)
}

// Layer returns a performer that answers the mocked requests and passes the permitted others to
// next.
func (w *World) Layer(next effect.Performer) effect.Performer {
	return effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
		if err := ctx.Err(); err != nil && !effect.Inline(r.Kind()) && r.Kind() != effect.KindExchangeClose {
			return nil, context.Cause(ctx)
		}
		return w.performMocked(ctx, r, next)
	})
}

// anyTool is the ID of the call that lists the tools of a server without a mock. The list is empty.
// If the model nevertheless calls a tool, that call fails because of the missing mock.
const anyTool = -1

func (w *World) performMocked(ctx context.Context, r effect.Request, next effect.Performer) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.AgentCall:
		return w.answerModel(ctx, r, next)
	case *effect.StreamOpen:
		return w.openStream(ctx, r, next)
	case *effect.StreamNext:
		return w.nextPiece(ctx, r, next)
	case *effect.StreamClose:
		return w.closeStream(ctx, r, next)
	case *effect.ExchangeOpen:
		return w.openExchange(ctx, r, next)
	case *effect.ExchangeNext:
		if x := w.findExchange(r.ID); x != nil {
			return x.nextMessage()
		}
		return w.awaitHostMessages(ctx, r, next)
	case *effect.ExchangeReply:
		if x := w.findExchange(r.ID); x != nil {
			return nil, x.recordReply(r)
		}
		w.countRequests(r.ID, -1)
	case *effect.HostTasks:
		if w.hosts[r.Host] != nil { // a mock has no tasks
			return &effect.HostTaskList{Tasks: []effect.HostTask{}}, nil
		}
	case *effect.ExchangeSteer, *effect.ExchangeContinue, *effect.ExchangeClose:
		if x := w.findExchange(*r.(effect.Numbered).Number()); x != nil {
			return x.steerOrEnd(r)
		}
	case *effect.ExchangeGate:
		if w.findExchange(r.ID) != nil {
			return w.runGate(r)
		}
	case *effect.MCPNext:
		if r.ID == anyTool {
			return &effect.MCPEvent{Kind: "result", Data: json.RawMessage(`[{"any":true}]`)}, nil
		}
	case *effect.Sleep:
		return w.sleep(ctx, r, next)
	case *effect.Clock:
		return w.readClock(ctx, r, next)
	case *effect.QueueWait:
		return w.waitForItem(ctx, r, next)
	case *effect.Env:
		return w.readVariable(ctx, r, next)
	case *effect.EnvAll:
		return w.readEnvironment(ctx, r, next)
	case *effect.Args, *effect.Input, *effect.Secret:
		if !w.options.Live || w.options.Sample {
			return w.performInput(r), nil
		}
	case *effect.HTTP:
		return w.answerHTTP(ctx, r, next)
	case *effect.Command:
		return w.runCommand(ctx, r, next)
	case *effect.Random:
		w.drew()
	case *effect.Emit, *effect.AwaitEmit, *effect.Print, *effect.Log, *effect.Record:
		return w.performOutput(ctx, r, next)
	case *effect.MockScript, *effect.MockNext, *effect.MockAnswer, *effect.MockEnv, *effect.MockArgs, *effect.MockInput, *effect.MockTime, *effect.MockHTTP, *effect.MockFile, *effect.MockCommand:
		return nil, w.script(r)
	}
	if res, err, ok := w.performFile(ctx, r, next); ok {
		return res, err
	}
	w.recordRead(r)
	switch r := r.(type) {
	case *effect.MCPOpen:
		return w.callServer(ctx, r, next)
	case *effect.AppCall:
		return w.callTool(ctx, r, next)
	}
	if by := effect.Lookup(r.Kind()).By; by == effect.Workspaces || by == effect.Merges {
		return w.useWorkspace(ctx, r, next)
	}
	return w.performUnmocked(ctx, r, next, nil)
}

// callServer performs a call of an MCP server that is not mocked: a call of a function, or the list
// of the functions.
func (w *World) callServer(ctx context.Context, r *effect.MCPOpen, next effect.Performer) (effect.Result, error) {
	result, err := w.performUnmocked(ctx, r, next, &Missing{What: "`" + r.Server + "." + r.Function() + "` of an MCP server", Mock: "mock " + r.Server + " { " + r.Function() + ": … }"})
	if _, missing := err.(*Missing); missing && r.Method == effect.MCPListTools {
		return &effect.MCPOpened{ID: anyTool}, nil
	}
	return result, err
}

// callTool calls a tool of the application. If the tool is a function of the program, that function
// is called directly.
func (w *World) callTool(ctx context.Context, r *effect.AppCall, next effect.Performer) (effect.Result, error) {
	result, err := next.Perform(ctx, r)
	x, ok := result.(*effect.AppResult)
	switch {
	case ok && x.Unplayed:
		return w.performUnmocked(ctx, r, next, &Missing{What: "the application's tool `" + r.Tool + "`", Mock: "mock_tool(\"" + r.Tool + "\", |args| …)"})
	case ok && x.Outside && w.options.Tape != nil:
		w.options.Tape.RecordCall(r, result)
	}
	return result, err
}

// performInput returns the arguments, the input or a secret of the World.
func (w *World) performInput(r effect.Request) effect.Result {
	switch r := r.(type) {
	case *effect.Input:
		return w.readInput(r)
	case *effect.Secret:
		w.drew()
		return w.secret(r)
	}
	return w.programArguments()
}

// Answers reports whether the World itself answers a request now, by a mock or from its own state.
// It must be called when the program makes the request. Requests for the clock and for timers are
// not included.
func (w *World) Answers(r effect.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := r.(type) {
	case *effect.AgentCall:
		return w.agents[r.Agent] != nil
	case *effect.StreamOpen:
		return w.agents[r.Agent] != nil
	case *effect.StreamNext, *effect.StreamClose:
		return *r.(effect.Numbered).Number() < 0
	case *effect.ExchangeOpen:
		return w.hosts[r.Host] != nil
	case *effect.HostTasks:
		return w.hosts[r.Host] != nil
	case *effect.ExchangeNext, *effect.ExchangeReply, *effect.ExchangeSteer, *effect.ExchangeContinue, *effect.ExchangeGate, *effect.ExchangeClose:
		return w.exchanges[*r.(effect.Numbered).Number()] != nil
	case *effect.AwaitEmit:
		return len(w.answers[r.Channel]) > 0
	case *effect.HTTP:
		return w.web.has(r)
	case *effect.Command:
		return w.shell.has(r)
	case *effect.CopyFile:
		return w.mockedFile(r.From) != nil || w.mockedFile(r.Path) != nil
	case *effect.MoveFile:
		return w.mockedFile(r.From) != nil || w.mockedFile(r.Path) != nil
	case *effect.ReadFile, *effect.AttachFile, *effect.WriteFile, *effect.FileInfo, *effect.RemoveFile:
		return w.mockedFile(pathOf(r)) != nil
	case *effect.Args, *effect.Input, *effect.Secret:
		return !w.options.Live || w.options.Sample
	}
	return effect.Lookup(r.Kind()).By == effect.Tests
}

func (w *World) drew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record.Drew = true
}

func (w *World) programArguments() effect.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &effect.ArgsValue{Args: slices.Clone(w.process.args)}
}

// readInput reads a line, or the rest, of the test's standard input.
func (w *World) readInput(r *effect.Input) effect.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.All {
		all := w.process.input
		w.process.input = ""
		return &effect.InputText{Text: all}
	}
	if w.process.input == "" {
		return &effect.InputText{End: true}
	}
	line, rest, _ := strings.Cut(w.process.input, "\n")
	w.process.input = rest
	return &effect.InputText{Text: strings.TrimSuffix(line, "\r")}
}

// script performs the requests that define a mock.
func (w *World) script(r effect.Request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := r.(type) {
	case *effect.MockScript:
		if r.Host {
			return w.mockHost(r)
		}
		return w.mockAgent(r)
	case *effect.MockNext:
		if r.Host {
			return w.nextTalk(r)
		}
		return w.nextAnswer(r)
	case *effect.MockAnswer:
		w.answers[r.Channel] = append(w.answers[r.Channel], r.Value)
	case *effect.MockEnv:
		w.process.env[r.Name] = &effect.EnvValue{Value: r.Value, Set: r.Set}
	case *effect.MockArgs:
		w.process.args = r.Args
	case *effect.MockInput:
		w.process.input = r.Text
	case *effect.MockTime:
		w.clock.unix = r.Unix
	case *effect.MockHTTP:
		return w.mockHTTP(r)
	case *effect.MockCommand:
		return w.mockCommand(r)
	case *effect.MockFile:
		w.files[filepath.Clean(r.Path)] = &file{text: r.Text, missing: r.Missing}
	}
	return nil
}

func (w *World) readVariable(ctx context.Context, r *effect.Env, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	v := w.process.env[r.Name]
	w.mu.Unlock()
	if v != nil {
		set := *v
		return &set, nil
	}
	return w.performUnmocked(ctx, r, next, nil)
}

// readEnvironment returns the real environment, changed by the variables that the test has set.
func (w *World) readEnvironment(ctx context.Context, r *effect.EnvAll, next effect.Performer) (effect.Result, error) {
	res, err := w.performUnmocked(ctx, r, next, nil)
	all, ok := res.(*effect.EnvVariables)
	if err != nil || !ok {
		return res, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	values := map[string]string{}
	for i, name := range all.Names {
		values[name] = all.Values[i]
	}
	for name, v := range w.process.env {
		if v.Set {
			values[name] = v.Value
		} else {
			delete(values, name)
		}
	}
	out := &effect.EnvVariables{Names: slices.Sorted(maps.Keys(values))}
	for _, name := range out.Names {
		out.Values = append(out.Values, values[name])
	}
	return out, nil
}

// secret returns random bytes that are the same in every run of the test.
func (w *World) secret(r *effect.Secret) effect.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := make([]byte, max(r.Bytes, 0))
	w.secrets.Read(b) // never fails
	return &effect.SecretBytes{Bytes: b}
}

// bad returns the error for an invalid mock. It is reported at the position of the mock.
func bad(format string, args ...any) error { return effect.Errorf("RuntimeError", format, args...) }

// parseObject parses a JSON object and returns an error for unknown members.
func parseObject(what string, raw json.RawMessage, allowed ...string) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, bad("%s: %v", what, err)
	}
	for k := range m {
		found := false
		for _, n := range allowed {
			found = found || n == k
		}
		if !found {
			return nil, bad("%s has no member `%s`; it may have %s", what, k, strings.Join(allowed, ", "))
		}
	}
	return m, nil
}

// parseString parses a JSON string; ok is false for any other value.
func parseString(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// plural formats a count: "1 response", "2 responses".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// useWorkspace performs an effect on a workspace with the tape, or for real if the test is live.
func (w *World) useWorkspace(ctx context.Context, r effect.Request, next effect.Performer) (effect.Result, error) {
	missing := &Missing{}
	result, err := w.performUnmocked(ctx, r, next, missing)
	if err == error(missing) {
		return nil, effect.Errorf("GitError", "a test does not use workspaces: run it with --live").With("code", "permission")
	}
	return result, err
}
