package vm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// stage is a performer that simulates hosts in memory. Each exchange has a script, and the
// performer logs the effects that the program performs.
//
// A script has one step a line. `< MESSAGE` sends a message to the program. `> REPLY` waits for the
// program's next reply and compares it. `@ EVENT` waits for an event, which is "sleep" or "ask". `!
// KIND MESSAGE` fails the exchange with that error. After `hang` the host sends nothing more.
type stage struct {
	mu      sync.Mutex
	scripts [][]string // script of each exchange, in the order of opening
	at      []int
	replies []chan string
	events  map[string]chan struct{}
	log     []string
	wrong   []string
	clock   int64
	expire  bool                                         // sleeps return at once, after the event "ask"
	answer  func(channel string) (string, *effect.Error) // answers awaited emits, after answers is empty
	answers []*effect.Answer                             // answers to awaited emits, in their order
	exit    string                                       // the failure of each reply, in the form of a `!` step; "" if replies succeed
}

func newStage(scripts ...string) *stage {
	s := &stage{events: map[string]chan struct{}{"sleep": make(chan struct{}, 8), "ask": make(chan struct{}, 8)}}
	for _, script := range scripts {
		s.scripts = append(s.scripts, strings.Split(strings.TrimSpace(script), "\n"))
		s.at = append(s.at, 0)
		s.replies = append(s.replies, make(chan string, 8))
	}
	return s
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *stage) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.Clock:
		s.clock += 5
		return &effect.Time{Unix: 1_000_000 + s.clock, Monotonic: s.clock}, nil
	case *effect.Emit:
		s.note("emit %s %s", r.Channel, r.Payload)
		return nil, nil
	case *effect.Print:
		s.note("print %q %v", r.Text, r.Newline)
		return nil, nil
	case *effect.Log:
		s.note("log %s %s %s", r.Level, r.Message, r.Fields)
		return nil, nil
	case *effect.Env:
		return &effect.EnvValue{Value: "v of " + r.Name, Set: r.Name != "UNSET"}, nil
	case *effect.Args:
		return &effect.ArgsValue{Args: []string{"a", "b"}}, nil
	case *effect.AwaitEmit:
		s.note("ask %s %s", r.Channel, r.Payload)
		return s.ask(ctx, r)
	case *effect.AgentCall:
		text, _ := json.Marshal(r)
		s.note("agent %s", text)
		return &effect.AgentReply{Text: "hi", TokensIn: 1, TokensOut: 2, Model: "m", Provider: "p", LatencyMS: 3, StopReason: "end",
			ToolCalls: []effect.ToolCall{{ID: "1", Name: "T_m", Args: "{}"}}}, nil
	case *effect.Sleep:
		s.events["sleep"] <- struct{}{}
		if s.expire && r.Milliseconds == 7000 { // the sleep is the question's timer
			<-s.events["ask"]
			return nil, nil
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return s.exchange(ctx, r)
}

func (s *stage) ask(ctx context.Context, r *effect.AwaitEmit) (effect.Result, error) {
	s.events["ask"] <- struct{}{}
	if len(s.answers) > 0 {
		a := s.answers[0]
		s.answers = s.answers[1:]
		return a, nil
	}
	if s.answer == nil {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	v, err := s.answer(r.Channel)
	if err != nil {
		return nil, err
	}
	return &effect.Answer{Value: json.RawMessage(v)}, nil
}

func (s *stage) exchange(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.ExchangeOpen:
		s.mu.Lock()
		n := 0
		for _, l := range s.log {
			if strings.HasPrefix(l, "open ") {
				n++
			}
		}
		s.mu.Unlock()
		s.note("open %s %q %s%s", r.Host, r.Prompt, r.Context, r.Schema)
		if strings.HasPrefix(s.scripts[n][0], "!") {
			return nil, broken(s.scripts[n][0])
		}
		return &effect.ExchangeOpened{ID: int64(n)}, nil
	case *effect.ExchangeNext:
		return s.next(ctx, int(r.ID))
	case *effect.ExchangeReply:
		text := fmt.Sprintf("%s %s", r.InReplyTo, r.AnswerTo)
		if r.Error != "" {
			text += " error " + r.Error
		} else {
			text += " " + string(r.Value)
		}
		s.note("reply %s", text)
		s.replies[r.ID] <- text
		if s.exit != "" {
			return nil, broken(s.exit)
		}
		return nil, nil
	case *effect.ExchangeClose:
		s.note("close %s", r.Reason)
		return nil, nil
	}
	return nil, fmt.Errorf("unexpected effect %s", r.Kind())
}

// broken parses the step `! KIND MESSAGE`. The kind `Kind/code` contains a code.
func broken(step string) *effect.Error {
	words := strings.SplitN(step, " ", 3)
	kind, code, _ := strings.Cut(words[1], "/")
	e := effect.Errorf(kind, "%s", words[2]).With("host", "Worker")
	if code != "" {
		e.With("code", code)
	}
	return e
}

// next executes the script of exchange id up to the first step that follows a message and is not a
// message. It returns the messages.
func (s *stage) next(ctx context.Context, id int) (effect.Result, error) {
	var out effect.ExchangeMessages
	for {
		if s.at[id] == len(s.scripts[id]) {
			if len(out.Messages) > 0 {
				return &out, nil
			}
			return nil, fmt.Errorf("the script of exchange %d has ended", id)
		}
		step := strings.TrimSpace(s.scripts[id][s.at[id]])
		if len(out.Messages) > 0 && !strings.HasPrefix(step, "<") {
			return &out, nil
		}
		switch step[0] {
		case '<':
			typ, raw, payload, err := value.ParseMessage(bytes.TrimSpace([]byte(step[1:])))
			if err != nil {
				return nil, err
			}
			out.Messages = append(out.Messages, effect.HostMessage{Type: typ, ID: string(raw), Payload: payload})
		case '>':
			select {
			case got := <-s.replies[id]:
				if want := strings.TrimSpace(step[1:]); got != want {
					s.mu.Lock()
					s.wrong = append(s.wrong, fmt.Sprintf("got reply %q, want %q", got, want))
					s.mu.Unlock()
				}
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case '@':
			select {
			case <-s.events[strings.TrimSpace(step[1:])]:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case '!':
			return nil, broken(step)
		default:
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		s.at[id]++
	}
}
