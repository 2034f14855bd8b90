// Package talkgen makes conversations of a program with a host at random, and
// says by a model of its own what must come of each: what the program sees, what
// the host gets, and what is remarked (spec/host-protocol.md).
//
// A conversation is data: the program's side as a list of exchanges, the host's
// as the steps of each of its processes. Tests play it over any transport, or
// under the whole VM, and compare. The package knows the table of messages and
// none of what is made of it, so that the model shares no mistake with that.
package talkgen

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/hostmsg"
)

// A Level is what plays the program's side.
type Level int

const (
	// Wire is the requests of an exchange: whoever plays the program does with
	// each message what its member `do` says.
	Wire Level = iota
	// Listen is the program that Source gives, whose handlers do that.
	Listen
)

// Options say for whom a conversation is made.
type Options struct {
	Level Level
	// Patient says that the next exchange begins only when the host has said all
	// that it says behind the end of one. Without it that comes in one piece with
	// the end.
	Patient bool
}

// Talk is a conversation.
type Talk struct {
	Seed    uint64
	Options Options

	Params   bool              // the host is initialised
	Cancel   bool              // and says that it can be cancelled
	Tools    bool              // the host has the tool T of Source
	Defaults map[string]string // what answers unhandled messages, by its key

	Exchanges []Exchange
	Starts    [][]Step // of each process of the host
}

// Exchange is what the program says and listens to.
type Exchange struct {
	Prompt  string
	Handled []string // the types with a handler, at level Listen
}

// Op is what a step does.
type Op int

// The steps of a host.
const (
	Hear   Op = iota // takes a line in
	Say              // writes Text as it is
	Await            // waits for the program's signal Text
	Signal           // gives the signal Text: all is said, as a patient player waits for
	Exit             // ends with the code N
	Hang             // waits for its end
)

// Step is a step of a host.
type Step struct {
	Op   Op
	Text string
	N    int
}

// The host's name in the program, its only parameter as its init line, and why a
// player of level Wire closes an exchange.
const (
	Host     = "W"
	InitLine = `{"type":"init","params":{"a":1}}`
	Reason   = "stop"
)

// PromptLine is the line that begins an exchange.
func (e *Exchange) PromptLine() string {
	return `{"type":"prompt","text":` + quote(e.Prompt) + `}`
}

// Script gives the host's side as a script for package testhost. Signals are
// files beside it.
func (t *Talk) Script() string {
	var b strings.Builder
	for i, steps := range t.Starts {
		if i > 0 {
			b.WriteString("--- spawn\n")
		}
		for _, s := range steps {
			switch s.Op {
			case Hear:
				b.WriteString("read\n")
			case Say:
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
		}
	}
	return b.String()
}

// Signals says whether the host signals that all is said behind the i-th
// exchange.
func (t *Talk) Signals(i int) bool {
	return slices.ContainsFunc(t.Starts, func(steps []Step) bool { return slices.Contains(steps, Step{Op: Signal, Text: Said(i)}) })
}

// Lines are the lines that a host has recorded, as an Outcome has them.
func Lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, Canonical(strings.TrimSuffix(line, "\n")))
	}
	return all
}

// String shows the conversation to people.
func (t *Talk) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "params %v, cancel %v, tools %v, defaults %q\n", t.Params, t.Cancel, t.Tools, t.Defaults)
	for i, e := range t.Exchanges {
		fmt.Fprintf(&b, "exchange %d: %q handles %v\n", i, e.Prompt, e.Handled)
	}
	names := [...]string{"hear", "say", "await", "signal", "exit", "hang"}
	for i, steps := range t.Starts {
		fmt.Fprintf(&b, "process %d:\n", i)
		for _, s := range steps {
			switch s.Op {
			case Say:
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

// types are the types of messages that a program may handle.
var types = append(hostmsg.Types((*hostmsg.Message).Handled), "own", "typed")

// declared is the one of the defaults that a host's declaration may give; all
// others stand in the manifest.
const declared = "question_default"

// Source is the program of level Listen. What its handlers get is emitted on
// "got"; what comes of an exchange on "ok" or "err".
func (t *Talk) Source() string {
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
	b.WriteString("}\n")
	return b.String()
}

// Manifest is the program's manifest; command and args start the host.
func (t *Talk) Manifest(command string, args ...string) string {
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
