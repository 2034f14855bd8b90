package hosts

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/hostsandbox"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// talkCommand is the command host talk with its options.
type talkCommand struct {
	console *console.Console
	wire    string
}

func newHostTalk(a *console.Console) *cobra.Command {
	cmd := talkCommand{console: a}
	c := &cobra.Command{
		Use:   "talk NAME",
		Short: "Talk to a host on the terminal",
		Long: `Sends each line of stdin as a prompt to a host that the program declares, and prints the host's
messages. If the host asks a question, the next line is the answer: text, or a JSON object or
array. The program does not run.

  :cancel   cancel the exchange
  :quit     end the conversation; without a terminal, after the exchange has ended`,
		Example: `  concerto host talk Coder
  concerto host talk Coder --wire talk.wire    record the messages
  printf 'tidy up\nyes\n' | concerto host talk Coder`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage("`concerto host list` lists the hosts", "host talk requires the name of a host")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return cmd.talk(c.Context(), args[0]) },
	}
	c.Flags().StringVar(&cmd.wire, "wire", "", program.WireUsage)
	return c
}

func (cmd *talkCommand) talk(parent context.Context, name string) (failed error) {
	c, p, err := findHost(cmd.console, name)
	if err != nil {
		return err
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	<-signals.Ready
	record, end, err := program.RecordHost(cmd.console, cmd.wire, p.MainFile(), &c)
	if err != nil {
		return err
	}
	defer func() { failed = end(failed) }()
	hosts := host.New(host.Options{Configs: []host.Config{c}, Environ: cmd.console.Environ, Run: cmd.console.Processes(), Trace: record, Log: cmd.logRemark, Directories: workspace.Directories{}, Sandboxes: hostsandbox.Sandboxes{},
		Stderr: func(host, line string) {
			cmd.console.Notef("%s: %s\n", host, console.Printable(line))
		}})
	defer hosts.Close(context.WithoutCancel(ctx))
	t := &talk{console: cmd.console, hosts: hosts, name: c.Name, typed: make(chan string)}
	go t.read()
	return t.run(ctx)
}

// logRemark logs a line about a host, as a run does.
func (cmd *talkCommand) logRemark(level, line string) {
	switch {
	case level == "debug":
		cmd.console.Verbosef("%s", console.Printable(line))
	case !cmd.console.Quiet:
		cmd.console.Notef("%s: %s\n", level, console.Printable(line))
	}
}

// talk is a conversation that a user types with a host. Lines that are typed early are queued, and
// used as the next answer or the next prompt. Therefore the lines may also come from a file.
type talk struct {
	console    *console.Console
	hosts      *host.Hosts
	name       string
	typed      chan string // lines of stdin; closed at the end of stdin
	queued     *string
	inputEnded bool // stdin has ended

	open []effect.HostMessage // questions without an answer, oldest first
}

// The commands that the user can type.
const (
	cancelCommand = ":cancel"
	quitCommand   = ":quit"
)

// errQuit ends the conversation.
var errQuit = errors.New("quit")

func (t *talk) read() {
	defer close(t.typed)
	in := bufio.NewReader(t.console.Stdin)
	for {
		line, err := in.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			t.typed <- strings.TrimRight(line, "\r\n")
		}
		if err != nil {
			return
		}
	}
}

// printPrompt prints on a terminal what the user can type next.
func (t *talk) printPrompt(what string) {
	if t.console.TTY.In {
		fmt.Fprint(t.console.Stderr, what+"> ")
	}
}

func (t *talk) run(ctx context.Context) error {
	for {
		prompt, err := t.readPrompt(ctx)
		if err == nil {
			err = t.exchange(ctx, prompt)
		}
		switch {
		case errors.Is(err, errQuit):
			return nil
		case err != nil:
			return err
		}
	}
}

// readPrompt returns the next typed line that is not a command.
func (t *talk) readPrompt(ctx context.Context) (string, error) {
	for {
		line, ok := "", !t.inputEnded
		if t.queued != nil {
			line, t.queued = *t.queued, nil
		} else if ok {
			t.printPrompt(t.name)
			select {
			case line, ok = <-t.typed:
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		switch {
		case !ok || line == quitCommand:
			return "", errQuit
		case line == cancelCommand:
			t.console.Notef("no exchange to cancel\n")
		default:
			return line, nil
		}
	}
}

// talkEvent is an event of an exchange: the exchange's id, messages, or an error.
type talkEvent struct {
	id       int64
	messages []effect.HostMessage
	err      error
}

// exchange sends a prompt and shows the host's messages until the exchange ends.
func (t *talk) exchange(parent context.Context, prompt string) error {
	ctx, stop := context.WithCancel(parent)
	defer stop()
	t.open = nil
	all := make(chan talkEvent)
	go t.pollExchange(ctx, prompt, all)
	id := int64(0)
	leave := func(reason string) error {
		stop()
		for h := range all { // remaining events: the exchange may have been opened concurrently
			id = max(id, h.id)
		}
		return t.sendRequest(parent, &effect.ExchangeClose{ID: id, Reason: reason})
	}
	command := "" // the command that ends the exchange; it takes effect after the prompt was sent
	for {
		typed := t.typed
		if t.queued != nil || t.inputEnded || command != "" {
			typed = nil
		}
		select {
		case <-parent.Done():
			return errors.Join(leave("the conversation has ended"), context.Cause(parent))
		case line, ok := <-typed:
			switch {
			case !ok, line == quitCommand && !t.console.TTY.In:
				t.inputEnded = true // no further answers, but the current exchange continues until it ends
			case line == cancelCommand || line == quitCommand:
				command = line
			default:
				t.queued = &line
			}
		case h := <-all:
			id = max(id, h.id)
			if h.err != nil {
				t.show("error: " + h.err.Error())
				return leave("")
			}
			if t.showMessages(h.messages) {
				return leave("")
			}
		}
		if command != "" && id > 0 {
			err := leave("cancelled by the user")
			t.show("cancelled")
			if command == quitCommand {
				err = errors.Join(err, errQuit)
			}
			return err
		}
		if err := t.answer(parent, id); err != nil {
			return err
		}
	}
}

// pollExchange opens an exchange and sends its events to all. It returns after the last message,
// after an error, or when ctx is cancelled.
func (t *talk) pollExchange(ctx context.Context, prompt string, all chan<- talkEvent) {
	defer close(all)
	send := func(h talkEvent) bool {
		select {
		case all <- h:
			return h.err == nil
		case <-ctx.Done():
			if h.id > 0 {
				all <- h // the receiver closes the exchange
			}
			return false
		}
	}
	opened, err := t.hosts.Perform(ctx, &effect.ExchangeOpen{Host: t.name, Prompt: prompt})
	if err != nil {
		send(talkEvent{err: err})
		return
	}
	id := opened.(*effect.ExchangeOpened).ID
	if !send(talkEvent{id: id}) {
		return
	}
	for {
		got, err := t.hosts.Perform(ctx, &effect.ExchangeNext{ID: id})
		if err != nil {
			send(talkEvent{err: err})
			return
		}
		messages := got.(*effect.ExchangeMessages).Messages
		if !send(talkEvent{messages: messages}) || hostmsg.Lookup(messages[len(messages)-1].Type).Terminal() {
			return
		}
	}
}

// showMessages shows messages of the host and adds its questions to t.open. It returns true if the
// last message of the exchange is among them.
func (t *talk) showMessages(messages []effect.HostMessage) (last bool) {
	for i := range messages {
		m := messages[i]
		t.show(messageText(&m))
		row := hostmsg.Lookup(m.Type)
		switch {
		case row.Terminal():
			return true
		case row.Waits():
			t.open = append(t.open, m)
			t.printPrompt("answer")
		case row.Role == hostmsg.Withdraws:
			t.open = slices.DeleteFunc(t.open, func(o effect.HostMessage) bool { return o.ID == m.ID })
		}
	}
	return false
}

// answer answers the oldest question of the exchange with the next queued line.
func (t *talk) answer(ctx context.Context, id int64) error {
	for len(t.open) > 0 && (t.queued != nil || t.inputEnded) {
		m := t.open[0]
		t.open = t.open[1:]
		r := &effect.ExchangeReply{ID: id, InReplyTo: m.Type, AnswerTo: m.ID}
		if t.queued == nil {
			r.Error = "no answer: the input has ended"
		} else {
			r.Value = typedValue(*t.queued)
			t.queued = nil
		}
		if err := t.sendRequest(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (t *talk) sendRequest(ctx context.Context, r effect.Request) error {
	_, err := t.hosts.Perform(ctx, r)
	return err
}

// show prints a text from the host.
func (t *talk) show(text string) {
	fmt.Fprintln(t.console.Stdout, console.Printable(text))
}

// typedValue returns a typed line as JSON. A JSON object or array is unchanged; other text becomes
// a string.
func typedValue(line string) json.RawMessage {
	text := strings.TrimSpace(line)
	if (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(line)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return quoted
}

// messageText returns a message as a readable line: the type, the text, and the possible answers.
func messageText(m *effect.HostMessage) string {
	var all struct {
		Message, Text, Chunk, Level, Stage, Question, Description, Tool, Code, Risk string
		RiskLevel                                                                   string `json:"risk_level"`
		Percent                                                                     *float64
		Options                                                                     []any
		Args                                                                        json.RawMessage
	}
	// A field has an unexpected type: show the message as JSON.
	err := json.Unmarshal(m.Text, &all)
	format := func(texts ...string) string {
		texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
		if err != nil || len(texts) == 0 {
			return m.Type + ": " + string(m.Text)
		}
		if kind := all.Stage + all.Level; kind != "" {
			return m.Type + " (" + kind + "): " + strings.Join(texts, " ")
		}
		return m.Type + ": " + strings.Join(texts, " ")
	}
	enclose := func(open, text, shut string) string {
		if text == "" {
			return ""
		}
		return open + text + shut
	}
	var options []string
	for _, o := range all.Options {
		options = append(options, fmt.Sprint(o))
	}
	offered := enclose("[", strings.Join(options, ", "), "]")
	switch hostmsg.Lookup(m.Type).Form {
	case hostmsg.Inquiry:
		return format(all.Question, offered)
	case hostmsg.YesNo:
		return format(terminal.OneLine(all.Description), enclose("(risk ", all.RiskLevel, ")"), offered)
	}
	switch m.Type {
	case "progress":
		percent := ""
		if all.Percent != nil {
			percent = fmt.Sprintf("(%g%%)", *all.Percent)
		}
		return format(all.Message, percent)
	case "log":
		return format(all.Message)
	case "partial":
		return format(all.Text + all.Chunk)
	case "tool_call":
		return format(all.Tool, string(all.Args))
	case hostmsg.Result:
		return format(all.Text)
	case hostmsg.Error:
		return format(all.Message, enclose("(", all.Code, ")"))
	}
	return m.Type + ": " + string(m.Text)
}
