// Package hostcheck implements `concerto host test` and `concerto host list` (spec/34-host.md). It
// runs fourteen checks on a host. Each check is a short conversation over the host's transport.
//
// The prompt of a check is "concerto test: CHECK". A testable host, which is one that uses an SDK,
// must answer each prompt in a specified way. Any other host may do everything that
// spec/host-protocol.md allows. Lines from and to the host are read and written as in a run.
package hostcheck

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/runtime/host"
)

// Outcome is the outcome of a check.
type Outcome string

// The outcomes. A check is skipped if the host does not use the tested feature and need not use it.
const (
	OK      Outcome = "ok"
	Fail    Outcome = "FAIL"
	Skipped Outcome = "skip"
)

// Verdict is the result of a check. For a failed check, it states what was expected, what happened
// instead and what the author of the host can do. For a skipped check, Why is the reason.
type Verdict struct {
	Check    string  `json:"check"`
	Outcome  Outcome `json:"outcome"`
	Expected string  `json:"expected,omitempty"`
	Got      string  `json:"got,omitempty"`
	Hint     string  `json:"hint,omitempty"`
	Why      string  `json:"why,omitempty"`
}

// Text returns the verdict as a line. A failure has a second line with the hint.
func (v Verdict) Text() string {
	if v.Outcome != Fail {
		return fmt.Sprintf("%s %s\n", v.Check, v.Outcome)
	}
	return fmt.Sprintf("%s %s expected %s, got %s\n  hint: %s\n", v.Check, v.Outcome, v.Expected, v.Got, v.Hint)
}

// check is a check in the table: its name, the hint for a failure, and the function that runs it.
type check struct {
	name string
	hint string
	play func(s *session) Verdict
}

// firstPrompt is the name of the check on which all later checks depend.
const firstPrompt = "prompt"

// checks returns all checks in order.
func checks() []check {
	return []check{
		{"start", "start it in a terminal: it must wait for lines on standard input, and write nothing before the first one", (*session).checkStart},
		{"init", `answer {"type":"init","params":{…}} with {"type":"init_ack"} before any other message, and flush`, (*session).initialise},
		{"ack", "init_ack may have capabilities, an array of strings, and version, a string; send no other message before the prompt", (*session).acknowledge},
		{firstPrompt, `answer each prompt with one {"type":"result"} or {"type":"error"}, end the line, flush, and wait for the next prompt`, prompt},
		{"progress", `progress is {"type":"progress","message":TEXT}, optionally with an integer percent`, checkProgress},
		{"question", "read the line with the response before you continue; the answer is in its value or its error", checkQuestion},
		{"approval", "read the response; perform the action only if the value is clearly yes, and continue without it otherwise", checkApproval},
		{"tool_call", "read the response; the result of the tool is in its value, and a failure in its error", toolCall},
		{"error", `catch exceptions and send {"type":"error","message":TEXT}; the process must continue`, fault},
		{"cancel", "send a result or an error within 5 seconds after cancel, or do not announce the capability", checkCancel},
		{"text", "write logs to standard error: print(…, file=sys.stderr), console.error, log.Print", checkText},
		{"big_line", "read whole lines of any length: a Go bufio.Scanner needs a larger Buffer, an asyncio StreamReader a larger limit", bigLine},
		{"utf8", "read and write UTF-8, and split lines only at \\n: Node's readline also splits them at U+2028", utf8},
		{"exit", "exit with code 0 when standard input is closed", checkExit},
	}
}

// Names returns the names of the checks in order.
func Names() []string {
	var all []string
	for _, c := range checks() {
		all = append(all, c.name)
	}
	return all
}

// Options configures the checks.
type Options struct {
	Config  host.Config
	Environ []string       // environment that the host inherits
	Run     *procgroup.Run // run to which the host's processes belong; may be nil
	// Sandboxes starts the processes of a host that has a sandbox; nil if the host has none.
	Sandboxes host.Sandboxes
	// Only contains the names of the checks to report; nil means all checks.
	Only []string
	// Wire receives each line from and to the host, also in concurrent calls; nil ignores the
	// lines.
	Wire func(hosttrace.Line)
	// Stderr receives each line of the host's standard error; nil ignores the lines.
	Stderr func(line []byte)
}

// Time limits. The host's configured timeout replaces patience.
const (
	patience = 30 * time.Second // limit of a check
	// wait for unrequested output of a new process, if the system does not report whether the
	// process waits for input
	early    = 500 * time.Millisecond
	starting = 5 * time.Second // wait for unrequested output of a new process, if the system reports that it does not wait for input
	// wait for unrequested output after an answer, unless the system reports that the process waits
	// for input
	settle   = 200 * time.Millisecond
	glance   = 5 * time.Millisecond // interval between polls
	hesitate = time.Second          // wait for output before an exchange is cancelled
	leaving  = 5 * time.Second      // wait for the exit after the host's input was closed
)

// Run runs the checks and passes each verdict to report at once. It returns an error only if ctx
// ends.
func Run(ctx context.Context, o Options, report func(Verdict)) error {
	s := &session{ctx: ctx, o: o, dialer: host.NewDialer(o.Config, host.Options{Environ: o.Environ, Run: o.Run, Sandboxes: o.Sandboxes, Trace: o.Wire}), remarked: map[string]bool{}, wrong: map[string]bool{}}
	defer s.endProcess()
	unanswered := false // the check of prompts failed, so that every further check would run into its time limit
	for _, c := range checks() {
		if o.Only != nil && !slices.Contains(o.Only, c.name) {
			continue
		}
		s.check, s.hint = c.name, c.hint
		v := skipped("the host does not answer prompts: `" + firstPrompt + "` failed")
		if !unanswered {
			v = c.play(s)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v.Check = c.name
		unanswered = unanswered || c.name == firstPrompt && v.Outcome == Fail
		s.remarked[c.name] = true
		report(v)
	}
	return nil
}

// Sum contains the number of verdicts by outcome.
type Sum struct {
	OK      int `json:"ok"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// Add counts a verdict.
func (s *Sum) Add(v Verdict) {
	switch v.Outcome {
	case OK:
		s.OK++
	case Fail:
		s.Failed++
	default:
		s.Skipped++
	}
}

// Text returns the summary as a line.
func (s Sum) Text() string {
	return fmt.Sprintf("%d ok, %d failed, %d skipped\n", s.OK, s.Failed, s.Skipped)
}

// useHintOf replaces the hint of failures by the hint of another check until restore is called.
func (s *session) useHintOf(name string) (restore func()) {
	before := s.hint
	for _, c := range checks() {
		if c.name == name {
			s.hint = c.hint
		}
	}
	return func() { s.hint = before }
}

// failed returns the verdict for a failure of the current check. The format describes what happened
// instead of the expected behaviour.
func (s *session) failed(expected, format string, args ...any) Verdict {
	return Verdict{Outcome: Fail, Expected: expected, Got: fmt.Sprintf(format, args...), Hint: s.hint}
}

func skipped(why string) Verdict { return Verdict{Outcome: Skipped, Why: why} }

var passed = Verdict{Outcome: OK}

// quoteLimit limits the part of a line that a verdict quotes, in bytes.
const quoteLimit = 200

func quoteLine(line []byte) string {
	return utf8cut.Short(string(line), quoteLimit)
}
