package tooltest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// PlayEnv is the variable that makes a test binary the script's tools, when its TestMain
// calls Play: one of the answers of a command.
const PlayEnv = "TOOLTEST_PLAY"

// Play makes the process a tool of the script, when PlayEnv says so, and says whether it
// has: it ends then.
func Play() (played bool) {
	switch os.Getenv(PlayEnv) {
	case tool.AnswerJSON:
		r := playOnce()
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			panic(err)
		}
	case tool.AnswerText:
		text, failed := playOnce().Text()
		if failed {
			fmt.Fprint(os.Stderr, text)
			os.Exit(1)
		}
		_, _ = io.WriteString(os.Stdout, text)
	case tool.AnswerLines:
		playLines()
	default:
		return false
	}
	return true
}

// sent is what a command and an address are sent.
type sent struct {
	Input   json.RawMessage
	Context tool.Told
}

// do does what a tool of the script does.
func do(ctx context.Context, name string, version int, input json.RawMessage, a Around) tool.Result {
	x, ok := Find(name, version)
	if !ok {
		return tool.Failure("the script has no tool %s@%d", name, version)
	}
	r, err := x.Do(ctx, input, a)
	if err != nil {
		return tool.Failure("%v", err)
	}
	return r
}

// playOnce answers one call.
func playOnce() tool.Result {
	var m sent
	if err := json.NewDecoder(os.Stdin).Decode(&m); err != nil {
		return tool.Failure("%v", err)
	}
	return do(context.Background(), m.Context.Tool, m.Context.Version, m.Input, alone{})
}

// alone is around a tool that has only its input.
type alone struct{}

func (alone) Progress(float64, float64, string) {}

func (alone) Call(context.Context, string, any) tool.Result {
	return tool.Failure("a tool that is called once calls nobody")
}

// Handler is the script's tools as an address.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m sent
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := json.Marshal(do(r.Context(), m.Context.Tool, m.Context.Version, m.Input, alone{}))
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(answer)
	})
}

// player is the script's tools as a process that stays.
type player struct {
	mu      sync.Mutex
	out     *bufio.Writer
	last    int
	waiting map[string]chan tool.Result // for its own requests
	calls   map[string]context.CancelFunc
}

// message is any message of JSON-RPC.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

func playLines() {
	p := &player{out: bufio.NewWriter(os.Stdout), waiting: map[string]chan tool.Result{}, calls: map[string]context.CancelFunc{}}
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				panic(err)
			}
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		p.hear(m)
	}
}

func (p *player) hear(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Method {
	case "tool/call":
		ctx, cancel := context.WithCancel(context.Background())
		p.calls[string(m.ID)] = cancel
		go p.call(ctx, m)
	case "$/cancelRequest":
		var of struct{ ID json.RawMessage }
		if json.Unmarshal(m.Params, &of) == nil && p.calls[string(of.ID)] != nil {
			p.calls[string(of.ID)]()
		}
	case "":
		var r tool.Result
		if err := json.Unmarshal(m.Result, &r); err != nil {
			r = tool.Failure("%v", err)
		}
		if answer := p.waiting[string(m.ID)]; answer != nil {
			answer <- r
		}
	}
}

func (p *player) call(ctx context.Context, m message) {
	var of struct {
		CallID  string `json:"call_id"`
		Name    string
		Version int
		Args    json.RawMessage
	}
	if err := json.Unmarshal(m.Params, &of); err != nil {
		panic(err)
	}
	r := do(ctx, of.Name, of.Version, of.Args, &played{p, of.CallID})
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	p.say(message{ID: m.ID, Result: text})
}

func (p *player) say(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.Version = "2.0"
	if err := errors.Join(json.NewEncoder(p.out).Encode(m), p.out.Flush()); err != nil {
		panic(err)
	}
}

// played is around a call of a player.
type played struct {
	p  *player
	id string
}

func (a *played) send(id json.RawMessage, method string, params any) {
	text, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	a.p.say(message{ID: id, Method: method, Params: text})
}

func (a *played) Progress(done, total float64, text string) {
	a.send(nil, "tool/progress", map[string]any{"call_id": a.id, "progress": done, "total": total, "message": text})
}

func (a *played) Call(_ context.Context, name string, args any) tool.Result {
	answer := make(chan tool.Result, 1)
	a.p.mu.Lock()
	a.p.last++
	id := fmt.Sprint(a.p.last)
	a.p.waiting[id] = answer
	a.p.mu.Unlock()
	a.send(json.RawMessage(id), "tools/call", map[string]any{"name": name, "args": args, "parent": a.id})
	return <-answer
}
