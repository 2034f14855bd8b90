// Package hostrun runs a process that speaks Concerto's host protocol, or an agent that speaks ACP,
// as a run of its own (spec/relay.md). It starts the process like a program's host, reports its
// messages to hostd as events, and sends its questions to people. The compatibility promise does
// not cover this API.
package hostrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/runtime/host"
)

// Options describes a run.
type Options struct {
	Source  *client.Source // receives the events; run.started has been sent
	ACP     bool           // the process speaks ACP instead of Concerto's protocol
	Name    string         // the host's name in requests
	Command []string
	Dir     string
	Environ []string
	Prompt  string
}

// unlimited is the timeout of the exchange in seconds: a person may need any time to answer.
const unlimited = 1e9

// Run runs the process until it ends and returns the exit code: 0 with a result, the process's own
// code if it ended without one, otherwise 1, and 143 if ctx was cancelled. No processes remain.
func Run(ctx context.Context, o Options) (code int) {
	t := &hostRun{o: o, open: map[string]context.CancelCauseFunc{}}
	c := host.Config{Name: o.Name, Connector: o.Name, Command: o.Command[0], Args: o.Command[1:], Dir: o.Dir, Timeout: unlimited, Inherited: host.Inherited{PassEnv: []string{"*"}}}
	if c.InputFormat, c.OutputFormat = "json", "json"; o.ACP {
		c.Transport, c.InputFormat, c.OutputFormat = "acp", "", ""
	}
	t.hosts = host.New(host.Options{Configs: []host.Config{c}, Environ: o.Environ, Run: &procgroup.Run{ID: procgroup.NewID()},
		Log:  func(_, line string) { t.print(client.Stderr, line+"\n") },
		Logf: func(level, line string) { t.printRemark(level, line) }})
	defer func() {
		t.cancelAll(errors.New("the run has ended"))
		t.asking.Wait()
		_ = t.hosts.Close(context.Background()) // waits for all processes
	}()
	if err := t.run(ctx); err != nil {
		return t.report(ctx, err)
	}
	return t.code
}

// hostRun is the state of one exchange.
type hostRun struct {
	o      Options
	hosts  *host.Hosts
	id     int64
	code   int
	asking sync.WaitGroup

	mu   sync.Mutex
	open map[string]context.CancelCauseFunc // open questions by id
}

func (t *hostRun) run(ctx context.Context) error {
	r, err := t.hosts.Perform(ctx, &effect.ExchangeOpen{Host: t.o.Name, Prompt: t.o.Prompt})
	if err != nil {
		return err
	}
	t.id = r.(*effect.ExchangeOpened).ID
	for {
		r, err := t.hosts.Perform(ctx, &effect.ExchangeNext{ID: t.id})
		if err != nil {
			return err
		}
		for i := range r.(*effect.ExchangeMessages).Messages {
			m := &r.(*effect.ExchangeMessages).Messages[i]
			t.handle(ctx, m)
			if hostmsg.Of(m.Type).Terminal() {
				_, err := t.hosts.Perform(ctx, &effect.ExchangeClose{ID: t.id})
				return err
			}
		}
	}
}

// report reports why there is no result and returns the exit code.
func (t *hostRun) report(ctx context.Context, err error) int {
	if ctx.Err() != nil {
		return 128 + 15
	}
	t.print(client.Stderr, err.Error()+"\n")
	var why *effect.Error
	if errors.As(err, &why) {
		if n, ok := why.Fields["exit_code"].(int64); ok && n > 0 && n < 256 {
			return int(n)
		}
	}
	return 1
}

func (t *hostRun) printRemark(level, line string) {
	if level != "debug" {
		t.print(client.Stderr, line+"\n")
	}
}

// print reports output.
func (t *hostRun) print(stream, text string) {
	t.o.Source.Wrote(stream, text)
}

// textFields are the members of messages that are shown as text.
type textFields struct {
	Message string          `json:"message"`
	Stage   string          `json:"stage"`
	Level   string          `json:"level"`
	Percent *float64        `json:"percent"`
	Text    json.RawMessage `json:"text"`
	Chunk   json.RawMessage `json:"chunk"`
}

// handle processes a message.
func (t *hostRun) handle(ctx context.Context, m *effect.HostMessage) {
	payload := json.RawMessage(value.AppendJSON(nil, m.Payload))
	var s textFields
	_ = json.Unmarshal(payload, &s) // on a type mismatch the whole message is shown
	row := hostmsg.Of(m.Type)
	switch {
	case m.Decided:
	case row.Role == hostmsg.Withdraws:
		t.withdraw(m.ID)
	case m.Type == "tool_call":
		t.reply(m, &effect.ExchangeReply{Error: "this run has no tools to call"})
	case row.Waits():
		t.ask(ctx, m, payload)
	case m.Type == hostmsg.Progress, m.Type == "log":
		t.print(client.Stdout, s.line(payload))
	case m.Type == "partial":
		t.print(client.Stdout, firstText(s.Text, s.Chunk))
	case row.Role == hostmsg.Succeeds:
		t.o.Source.Emitted("host:"+m.Type, payload, false)
		t.print(client.Stdout, firstText(s.Text)+"\n")
	case row.Role == hostmsg.Fails:
		t.code = 1
		t.print(client.Stderr, s.line(payload))
	default:
		t.o.Source.Emitted("host:"+m.Type, payload, false)
	}
}

// line returns a message as a line of text.
func (s *textFields) line(payload []byte) string {
	var words []string
	if s.Level != "" && s.Level != "info" {
		words = append(words, s.Level+":")
	}
	if s.Percent != nil {
		words = append(words, fmt.Sprintf("%g%%", *s.Percent))
	}
	switch {
	case s.Message != "":
		words = append(words, s.Message)
	case s.Stage != "":
		words = append(words, s.Stage)
	case len(words) == 0 || s.Level != "":
		words = append(words, string(payload))
	}
	return strings.TrimRight(strings.Join(words, " "), "\n") + "\n"
}

// firstText returns the first non-empty text; values that are not strings are shown as JSON.
func firstText(all ...json.RawMessage) string {
	for _, v := range all {
		var s string
		switch {
		case len(v) == 0 || string(v) == "null":
		case json.Unmarshal(v, &s) == nil:
			return s
		default:
			return string(v)
		}
	}
	return ""
}
