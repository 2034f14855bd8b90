// Package hostrun runs a process that speaks Concerto's host protocol or ACP as a run of the relay
// (spec/relay.md). It starts the process as a program would start a host, sends the process's
// messages to hostd as events, and submits its questions to users.
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
	Source  *client.Source // receives the events; its run.started was already sent
	ACP     bool           // the process speaks ACP instead of Concerto's host protocol
	Name    string         // name of the host in requests
	Command []string
	Dir     string
	Environ []string
	Prompt  string
}

// unlimited is the timeout of the exchange in seconds. It is very long, because a user may answer
// at any time.
const unlimited = 1e9

// Run runs the process until it exits and returns the exit code. The code is 0 after a result.
// Without a result it is the exit code of the process, or 1 if that is 0. It is 143 if ctx was
// cancelled. When Run returns, all processes have exited.
func Run(ctx context.Context, o Options) (code int) {
	t := &hostRun{o: o, open: map[string]context.CancelCauseFunc{}}
	c := host.Config{Name: o.Name, Connector: o.Name, Command: o.Command[0], Args: o.Command[1:], Dir: o.Dir, Timeout: unlimited, Inherited: host.Inherited{PassEnv: []string{"*"}}}
	if c.InputFormat, c.OutputFormat = "json", "json"; o.ACP {
		c.Transport, c.InputFormat, c.OutputFormat = "acp", "", ""
	}
	t.hosts = host.New(host.Options{Configs: []host.Config{c}, Environ: o.Environ, Run: &procgroup.Run{ID: procgroup.NewID()},
		Stderr: func(_, line string) { t.print(client.Stderr, line+"\n") },
		Log:    t.printRemark})
	defer func() {
		t.cancelAll(errors.New("the run has ended"))
		t.asking.Wait()
		_ = t.hosts.Close(context.Background()) // waits until all processes have exited
	}()
	if err := t.run(ctx); err != nil {
		return t.report(ctx, err)
	}
	return t.code
}

// hostRun is the state of the exchange with the process.
type hostRun struct {
	o      Options
	hosts  *host.Hosts
	id     int64
	code   int
	asking sync.WaitGroup

	mu   sync.Mutex
	open map[string]context.CancelCauseFunc // functions that cancel the open questions, by message id
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
			if hostmsg.Lookup(m.Type).Terminal() {
				_, err := t.hosts.Perform(ctx, &effect.ExchangeClose{ID: t.id})
				return err
			}
		}
	}
}

// report prints why there is no result. It returns the exit code.
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

// print sends output as an event.
func (t *hostRun) print(stream, text string) {
	t.o.Source.Wrote(stream, text)
}

// textFields are the members of messages that are printed as text.
type textFields struct {
	Message string          `json:"message"`
	Stage   string          `json:"stage"`
	Level   string          `json:"level"`
	Percent *float64        `json:"percent"`
	Text    json.RawMessage `json:"text"`
	Chunk   json.RawMessage `json:"chunk"`
}

// handle handles a message of the process.
func (t *hostRun) handle(ctx context.Context, m *effect.HostMessage) {
	payload := json.RawMessage(value.AppendJSON(nil, m.Payload))
	var s textFields
	_ = json.Unmarshal(payload, &s) // if a member has another type, the whole message is printed
	row := hostmsg.Lookup(m.Type)
	switch {
	case m.IsRuling():
	case m.IsRefusal(), m.IsUndelivered():
		m.Payload.Map().Delete(value.String(effect.DecidedAsked))
		t.o.Source.Emitted(m.Type, value.AppendJSON(nil, m.Payload), false)
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

// line returns the text of a message as one line.
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

// firstText returns the first value that is not empty. A value that is not a string is returned as
// JSON.
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
