// Package conversation generates random conversations of a program with a host. A model predicts
// the outcome of each: what the program receives, what the host receives, and what is logged about
// the host's errors (spec/host-protocol.md).
//
// A conversation is data: the program's side is a list of exchanges, the host's side the steps of
// each of its processes. Tests play it over any transport, or in the whole VM, and compare. The
// package shares only the table of messages with the implementation, so that the model does not
// repeat errors of the implementation.
package conversation

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// Level selects the player of the program's side.
type Level int

const (
	// Wire plays the exchange's requests directly, without a program. The test reacts to each
	// message as the message's member `do` requests.
	Wire Level = iota
	// Listen runs the program that Source returns. The handlers of that program react in the same
	// way.
	Listen
)

// Options configures a conversation.
type Options struct {
	Level Level
	// Patient delays the next exchange until the host has sent all output that follows the end of
	// the previous exchange. Without Patient, the host writes this output together with the end, in
	// one piece.
	Patient bool
}

// Conversation is a generated conversation between a program and a host.
type Conversation struct {
	Seed    uint64
	Options Options

	Params   bool              // the host has an initialisation parameter
	Cancel   bool              // the host supports cancelling
	Steer    bool              // the host receives messages while it works
	Tools    bool              // the host has the tool T of Source
	Defaults map[string]string // answers to unhandled messages, by key

	Exchanges []Exchange
	Starts    [][]Step // steps of each process of the host
}

// Exchange is the program's side of one exchange.
type Exchange struct {
	Prompt  string
	Handled []string // message types with a handler at level Listen
}

// Op is the kind of a step.
type Op int

// The kinds of steps.
const (
	Read   Op = iota // read a line
	Write            // write Text unchanged
	Await            // wait for the program's signal Text
	Signal           // send the signal Text, after which the host has written everything
	Exit             // exit with the code N
	Hang             // wait until killed
)

// Step is a step of a host.
type Step struct {
	Op   Op
	Text string
	N    int
}

// Host is the host's name in the program. InitLine is the host's init line with its only parameter.
// Reason is the reason with which a player of level Wire closes an exchange.
const (
	Host     = "W"
	InitLine = `{"type":"init","params":{"a":1}}`
	Reason   = "stop"
)

// PromptLine returns the line that begins an exchange.
func (e *Exchange) PromptLine() string {
	return `{"type":"prompt","text":` + quote(e.Prompt) + `}`
}

// Script returns the host's side as a script for package testhost. Signals are files in the
// script's directory.
func (t *Conversation) Script() string {
	var b strings.Builder
	last := t.lastRead()
	for i, steps := range t.Starts {
		if i > 0 {
			b.WriteString("--- spawn\n")
		}
		for at, s := range steps {
			switch s.Op {
			case Read:
				b.WriteString("read\n")
			case Write:
				fmt.Fprintf(&b, "bytes %s\n", hex.EncodeToString([]byte(s.Text)))
			case Await:
				fmt.Fprintf(&b, "await %s\n", s.Text)
			case Signal:
				fmt.Fprintf(&b, "write %s\n", s.Text)
			case Exit:
				fmt.Fprintf(&b, "exit %d\n", s.N)
			case Hang:
				b.WriteString("hang\n")
			}
			if i == len(t.Starts)-1 && at == last {
				fmt.Fprintf(&b, "write %s x\n", DoneFile)
			}
		}
	}
	return b.String()
}

// DoneFile is the file that a host started by Script writes after it has read its last line. A test
// waits for it before it kills the host of a finished program.
const DoneFile = "heard-all"

// WritesDoneFile reports whether the host writes DoneFile.
func (t *Conversation) WritesDoneFile() bool { return t.lastRead() >= 0 }

// lastRead returns the index of the last Read in the steps of the last process, or -1.
func (t *Conversation) lastRead() int {
	if len(t.Starts) == 0 {
		return -1
	}
	steps := t.Starts[len(t.Starts)-1]
	for at := len(steps) - 1; at >= 0; at-- {
		if steps[at].Op == Read {
			return at
		}
	}
	return -1
}

// Signals reports whether the host signals after it has written everything that follows the i-th
// exchange.
func (t *Conversation) Signals(i int) bool {
	return slices.ContainsFunc(t.Starts, func(steps []Step) bool { return slices.Contains(steps, Step{Op: Signal, Text: DoneSignal(i)}) })
}

// Lines returns the recorded lines of a host in the form of an Outcome.
func Lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, Canonical(strings.TrimSuffix(line, "\n")))
	}
	return all
}

// String formats the conversation for failure messages.
func (t *Conversation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "params %v, cancel %v, steer %v, tools %v, defaults %q\n", t.Params, t.Cancel, t.Steer, t.Tools, t.Defaults)
	for i, e := range t.Exchanges {
		fmt.Fprintf(&b, "exchange %d: %q handles %v\n", i, e.Prompt, e.Handled)
	}
	names := [...]string{"hear", "say", "await", "signal", "exit", "hang"}
	for i, steps := range t.Starts {
		fmt.Fprintf(&b, "process %d:\n", i)
		for _, s := range steps {
			switch s.Op {
			case Write:
				fmt.Fprintf(&b, "  say %.300q\n", s.Text)
			case Exit:
				fmt.Fprintf(&b, "  exit %d\n", s.N)
			default:
				fmt.Fprintf(&b, "  %s %s\n", names[s.Op], s.Text)
			}
		}
	}
	return b.String()
}

// types lists the message types that a program may handle.
var types = append(hostmsg.Types((*hostmsg.Message).Handled), "own", "typed")

// declared is the key of the default that is set in a host's declaration; all other defaults are in
// the manifest.
const declared = "question_default"

// Source returns the program of level Listen. It emits the messages that its handlers receive on
// "got", and the result of an exchange on "ok" or "err".
func (t *Conversation) Source() string {
	var b strings.Builder
	b.WriteString(`use std::{fs, time};

schema N { n: Int }

tool T {
    description: "For hosts.",
    @describe("Twice n.")
    pub fn twice(self, @param("any number") n: Int) -> Int { n * 2 }
}

fn act(m: Any) -> Any {
    match m.do {
        "reply" => m.with,
        "fail" => Err("` + Reason + `"),
        "wait" => {
            fs::write_file(to_string(m.signal), "x")?;
            time::sleep(60000);
            "too late"
        },
        "steer" => {
            emit("steered", ` + Host + `.steer(to_string(m.with))?);
            nil
        },
        "interrupt" => {
            ` + Host + `.interrupt(to_string(m.with))?;
            emit("steered", "interrupted");
            nil
        },
        _ => nil,
    }
}

host ` + Host + ` { connector: w, output_format: "json", timeout: 30`)
	if text := t.Defaults[declared]; text != "" {
		b.WriteString(", " + declared + ": " + quote(text))
	}
	if t.Tools {
		b.WriteString(", tools: [T]")
	}
	b.WriteString(" }\n\nfn main() {\n")
	for i, e := range t.Exchanges {
		fmt.Fprintf(&b, "    let r%d = listen %s.execute(%s) {\n", i, Host, quote(e.Prompt))
		for _, typ := range e.Handled {
			if typ == "typed" {
				b.WriteString("        \"typed\" => |m: N| { emit(\"got\", [\"typed\", m.n]); m.n },\n")
				continue
			}
			fmt.Fprintf(&b, "        %q => |m| { emit(\"got\", [%q, m]); act(m) },\n", typ, typ)
		}
		fmt.Fprintf(&b, "    };\n    match r%d { Ok(m) => emit(\"ok\", m), Err(e) => emit(\"err\", e.message) }\n", i)
	}
	if t.WritesDoneFile() {
		fmt.Fprintf(&b, "    for _ in 0..2000 { if fs::exists(%q) { break; } time::sleep(50); }\n", DoneFile)
	}
	b.WriteString("}\n")
	return b.String()
}

// Manifest returns the program's manifest; command and args start the host.
func (t *Conversation) Manifest(command string, args ...string) string {
	var b strings.Builder
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = strconv.Quote(a)
	}
	fmt.Fprintf(&b, "[hosts.w]\ncommand = %q\nargs = [%s]\n", command, strings.Join(quoted, ", "))
	for _, key := range slices.Sorted(maps.Keys(t.Defaults)) {
		if key != declared {
			fmt.Fprintf(&b, "%s = %q\n", key, t.Defaults[key])
		}
	}
	if t.Params {
		b.WriteString("params = { a = 1 }\n")
	}
	return b.String()
}
