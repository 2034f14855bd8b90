package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/testkit/conversation"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// program plays the program's side of a generated conversation. It follows the instructions in the
// host's messages.
type program struct {
	hosts       *Hosts
	signal      func(name string)
	awaitOutput func(exchange int) // waits until the host has written all output that follows an exchange

	mu      sync.Mutex
	remarks []string
}

// newProgram returns the program of a conversation whose host uses the given configuration and
// transport.
func newProgram(t *conversation.Conversation, c Config, transport Transport) *program {
	c.Name, c.Connector, c.OutputFormat, c.Timeout = conversation.Host, "w", "json", 30
	if t.Params {
		c.Params = []byte(`{"a":1}`)
	}
	p := &program{}
	// The hosts would log variables that they do not pass on, so only variables that are passed on
	// remain.
	inherited, _ := procgroup.Inherit{}.Of(os.Environ())
	o := Options{Configs: []Config{c}, Environ: inherited, Log: func(level, line string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.remarks = append(p.remarks, level+": "+line)
	}}
	if transport != nil {
		c.Transport = "memory"
		o.Configs, o.Transports = []Config{c}, map[string]Transport{"memory": transport}
	}
	p.hosts = New(o)
	return p
}

// play plays the conversation, and returns the texts that the program receives in each exchange.
func (p *program) play(t *conversation.Conversation) [][]string {
	var seen [][]string
	for i := range t.Exchanges {
		seen = append(seen, p.exchange(&t.Exchanges[i]))
		p.awaitOutput(i)
	}
	return seen
}

func (p *program) exchange(e *conversation.Exchange) (seen []string) {
	ctx := context.Background()
	r, err := p.hosts.Perform(ctx, &effect.ExchangeOpen{Host: conversation.Host, Prompt: e.Prompt})
	if err != nil {
		return []string{err.Error()}
	}
	id := r.(*effect.ExchangeOpened).ID
	reason := ""
	defer func() { _, _ = p.hosts.Perform(ctx, &effect.ExchangeClose{ID: id, Reason: reason}) }()
	for {
		r, err := p.hosts.Perform(ctx, &effect.ExchangeNext{ID: id})
		if err != nil {
			return append(seen, failureText(err))
		}
		for _, m := range r.(*effect.ExchangeMessages).Messages {
			seen = append(seen, conversation.Message(m.Type, m.ID, string(value.AppendJSON(nil, m.Payload))))
			if hostmsg.Lookup(m.Type).Terminal() {
				return seen
			}
			var sent []string
			if sent, reason = p.act(ctx, id, &m); reason != "" {
				return seen
			}
			seen = append(seen, sent...)
		}
	}
}

// act follows the instruction in a message. It returns the outcome of a message to the host, and
// the reason for which the exchange must be closed, or "".
func (p *program) act(ctx context.Context, id int64, m *effect.HostMessage) (sent []string, reason string) {
	member := func(name string) value.Slot {
		v, _ := m.Payload.Map().GetString(name)
		return v
	}
	do := member("do")
	if do.Kind() != value.KindString {
		return nil, ""
	}
	switch do.AsString() {
	case "reply":
		if with := member("with"); !with.IsNil() {
			_, _ = p.hosts.Perform(ctx, &effect.ExchangeReply{ID: id, InReplyTo: m.Type, AnswerTo: m.ID, Value: value.AppendJSON(nil, with)})
		}
	case "wait":
		p.signal(member("signal").AsString())
	case "fail":
		return nil, conversation.Reason
	case "steer", "interrupt":
		r, err := p.hosts.Perform(ctx, &effect.ExchangeSteer{ID: id, Text: member("with").AsString(), Interrupt: do.AsString() == "interrupt"})
		if err != nil {
			return []string{err.Error()}, ""
		}
		return []string{fmt.Sprintf("steered %q", r.(*effect.ExchangeSteered).Outcome)}, ""
	}
	return nil, ""
}

// failureText formats an error in the same way as the conversation's model.
func failureText(err error) string {
	text := conversation.Failed(err.Error())
	var e *effect.Error
	if errors.As(err, &e) && e.Fields["exit_code"] != nil {
		text += fmt.Sprintf(" (exit code %v)", e.Fields["exit_code"])
	}
	return text
}

// differences compares the results of a conversation with the expected ones. allRemarks means that
// log lines about output outside an exchange are deterministic and are compared too.
func differences(t *conversation.Conversation, seen, received [][]string, remarks []string, allRemarks bool) string {
	want := t.Expect()
	if len(want.Problems) > 0 {
		return "the conversation is none: " + strings.Join(want.Problems, "; ")
	}
	if !allRemarks {
		want.Remarks, remarks = slices.DeleteFunc(want.Remarks, conversation.Outside), slices.DeleteFunc(remarks, conversation.Outside)
	}
	diff := cmp.Diff(want.ProgramReceived, seen) + cmp.Diff(slices.Concat(want.HostReceived...), slices.Concat(received...))
	if !slices.Equal(want.Remarks, remarks) {
		diff += cmp.Diff(want.Remarks, remarks)
	}
	return diff
}

// inMemory plays a conversation in a synctest bubble, over pipes in memory. wrap may change the
// transport. diff is "" if the results are as expected.
func inMemory(t *testing.T, talk *conversation.Conversation, wrap func(Transport) Transport) (diff string) {
	synctest.Test(t, func(t *testing.T) {
		signals := map[string]chan struct{}{}
		var mu sync.Mutex
		signal := func(name string) chan struct{} {
			mu.Lock()
			defer mu.Unlock()
			if signals[name] == nil {
				signals[name] = make(chan struct{}, 1)
			}
			return signals[name]
		}
		received := make([][]string, len(talk.Starts))
		mem := &memory{}
		for i, steps := range talk.Starts {
			mem.play = append(mem.play, func(h *memHost) { received[i] = playProcess(h, steps, signal) })
		}
		p := newProgram(talk, Config{}, wrap(mem))
		p.signal = func(name string) { signal(name) <- struct{}{} }
		p.awaitOutput = func(int) { synctest.Wait() }
		seen := p.play(talk)
		if err := p.hosts.Close(context.Background()); err != nil {
			diff = err.Error()
			return
		}
		synctest.Wait()
		diff = differences(talk, seen, received, p.remarks, true)
	})
	return diff
}

func asItIs(t Transport) Transport { return t }

// playProcess plays the steps of one host process, and returns the lines that the process received.
func playProcess(h *memHost, steps []conversation.Step, signal func(string) chan struct{}) (received []string) {
	for _, s := range steps {
		switch s.Op {
		case conversation.Read:
			l := h.readLine()
			if l == "" {
				return append(received, "nothing")
			}
			received = append(received, conversation.Canonical(l))
		case conversation.Write:
			h.out.write(s.Text)
		case conversation.Await:
			select {
			case <-signal(s.Text):
			case <-h.dead:
			}
		case conversation.Exit:
			h.die(Exit{Code: s.N})
			return received
		case conversation.Hang:
			h.untilTerm()
			return received
		}
	}
	for {
		l := h.readLine()
		if l == "" {
			return received
		}
		received = append(received, "and "+l)
	}
}

// talkSeeds is the number of conversations played in memory.
const talkSeeds = 400

func patient(seed uint64) *conversation.Conversation {
	return conversation.Generate(seed, conversation.Options{Patient: true})
}

// TestTalks plays generated conversations in memory.
func TestTalks(t *testing.T) {
	randtest.Run(t, "runtime/host", talkSeeds, func(seed uint64) string { return patient(seed).String() }, func(t *testing.T, seed uint64) {
		if diff := inMemory(t, patient(seed), asItIs); diff != "" {
			t.Errorf("conversation differs (-want +got):\n%s", diff)
		}
	})
}

// buggyTransport is an in-memory transport that contains one of the bugs below.
type buggyTransport struct {
	Transport
	make func(*memConn) Conn
}

func (w buggyTransport) Connect(c *Config, s Surroundings) (Conn, error) {
	conn, err := w.Transport.Connect(c, s)
	if err != nil {
		return nil, err
	}
	return w.make(conn.(*memConn)), nil
}

// Each type is a connection with one bug.
type (
	wrongOffsetAfterBlank  struct{ *memConn } // the offset of the line after a blank line is wrong
	blankIsReady           struct{ *memConn } // Ready counts blank lines as available lines
	sendsNoBytes           struct{ *memConn } // BytesSent returns 0
	retainsCarriageReturns struct{ *memConn } // a line contains the '\r' of its "\r\n"
	losesHalves            struct{ *memConn } // an incomplete last line is dropped
	losesWrites            struct{ *memConn } // the last of several lines written together is lost
)

func (c wrongOffsetAfterBlank) BytesSent() int64 {
	n := c.memConn.BytesSent()
	all := c.h.out.history()
	if strings.Count(all[len(strings.TrimRight(all, " \t\r\n")):], "\n") > 1 {
		n++
	}
	return n
}

func (c blankIsReady) Ready() bool {
	return c.memConn.Ready() || strings.HasSuffix(c.h.out.history(), "\n\n")
}

func (c sendsNoBytes) BytesSent() int64 { return 0 }

func (c retainsCarriageReturns) ReadLine() (ndjson.Line, error) {
	l, err := c.memConn.ReadLine()
	if end := int(l.Offset) + len(l.Text); err == nil && end < len(c.h.out.history()) && c.h.out.history()[end] == '\r' {
		l.Text = append(slices.Clone(l.Text), '\r')
	}
	return l, err
}

func (c losesHalves) ReadLine() (ndjson.Line, error) {
	l, err := c.memConn.ReadLine()
	if err == nil && l.Half {
		return c.memConn.ReadLine()
	}
	return l, err
}

func (c losesWrites) Write(b []byte) (int, error) {
	lines := strings.SplitAfter(string(b), "\n")
	if len(lines) > 2 {
		b = []byte(strings.Join(lines[:len(lines)-2], ""))
	}
	return c.memConn.Write(b)
}

// TestTalksDetectFaults checks that at least one conversation of TestTalks fails for each bug.
func TestTalksDetectFaults(t *testing.T) {
	for _, m := range []struct {
		name string
		make func(*memConn) Conn
	}{
		{"a blank line counts as said", func(c *memConn) Conn { return wrongOffsetAfterBlank{c} }},
		{"a blank line counts as a line that is ready", func(c *memConn) Conn { return blankIsReady{c} }},
		{"what is late counts for the next exchange", func(c *memConn) Conn { return sendsNoBytes{c} }},
		{"line ends are not taken off", func(c *memConn) Conn { return retainsCarriageReturns{c} }},
		{"a last line without an end is lost", func(c *memConn) Conn { return losesHalves{c} }},
		{"a reply is lost", func(c *memConn) Conn { return losesWrites{c} }},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(talkSeeds) {
				if inMemory(t, patient(seed), func(tr Transport) Transport { return buggyTransport{tr, m.make} }) != "" {
					t.Logf("the conversation with seed %d reveals the bug", seed)
					return
				}
			}
			t.Error("no conversation reveals the bug")
		})
	}
}

// TestTalksOfProcesses plays generated conversations with processes.
func TestTalksOfProcesses(t *testing.T) {
	talk := func(seed uint64) *conversation.Conversation {
		return conversation.Generate(seed, conversation.Options{Patient: seed%2 == 0})
	}
	randtest.Run(t, "runtime/host", 40, func(seed uint64) string { return talk(seed).String() }, func(t *testing.T, seed uint64) {
		if diff := withProcesses(t, talk(seed)); diff != "" {
			t.Errorf("conversation differs (-want +got):\n%s", diff)
		}
	})
}

// withProcesses plays a conversation with processes that run package testhost.
func withProcesses(t *testing.T, talk *conversation.Conversation) string {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("w.host"), []byte(talk.Script()), 0o666); err != nil {
		t.Fatal(err)
	}
	p := newProgram(talk, Config{Command: os.Args[0], Args: []string{file("w.host")}, Env: map[string]string{
		"TESTHOST": "1", "GORACE": "atexit_sleep_ms=0",
	}}, nil)
	p.signal = func(name string) {
		if err := os.WriteFile(file(name), nil, 0o666); err != nil {
			t.Error(err)
		}
	}
	p.awaitOutput = func(i int) {
		if talk.Signals(i) {
			if err := testproc.AwaitFile(file(conversation.DoneSignal(i))); err != nil {
				t.Error(err)
			}
		}
	}
	seen := p.play(talk)
	if talk.WritesDoneFile() {
		if err := testproc.AwaitFile(file(conversation.DoneFile)); err != nil {
			t.Error(err)
		}
	}
	if err := p.hosts.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if problem, err := os.ReadFile(file("w.host.fail")); err == nil {
		t.Errorf("the host reported: %s", problem)
	}
	received, err := os.ReadFile(file("w.host.in"))
	if err != nil {
		t.Fatal(err)
	}
	return differences(talk, seen, [][]string{conversation.Lines(string(received))}, p.remarks, false)
}
