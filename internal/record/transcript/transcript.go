// Package transcript reads the transcripts in which vendors' agents store what they executed, and
// compares them with the decisions in a ledger (spec/27-ledger.md).
//
// A transcript has one JSON value in each line. It is read as a stream: a file of any size needs
// the memory of its longest line, up to maxLine. Nothing that cannot be read is passed over: it is
// a Problem.
package transcript

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Call is the call of a tool in a transcript.
type Call struct {
	Session string          `json:"session"`
	ID      string          `json:"call"`
	Agent   string          `json:"agent,omitempty"` // subagent or other thread; "" for the agent itself
	Tool    string          `json:"tool"`
	Kind    string          `json:"kind"`             // as in an approval
	Args    json.RawMessage `json:"-"`                // as an approval shows them
	Paths   []string        `json:"-"`                // changed files, if approvals are for files and not for arguments
	Reason  string          `json:"reason,omitempty"` // why it was executed, according to the agent
	Time    time.Time       `json:"-"`                // of its result; zero if unknown
	File    string          `json:"file"`
	Line    int             `json:"line"`

	vendor string
	sum    string // of Args
	state  state
	own    bool // a tool of the program
	inside bool // acts only inside the agent
	byRule bool // executed under a rule that a user's decision created, according to the agent
	isUser bool // a user's decision permitted it, according to the agent
	silent bool // the transcript does not contain why it was executed
}

// state is what a transcript shows about the end of a call.
type state uint8

const (
	unfinished state = iota // the transcript contains no result
	executed
	refused // the agent did not execute it
)

// Problem is a part of a transcript that cannot be read.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // 0 means the whole file
	Why  string `json:"why"`
}

func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Why
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Why)
}

// Kinds returns the kinds of calls that approvals name.
type Kinds struct {
	Claude       func(tool string) string
	ClaudeInside []string                      // tools of Claude Code that act only inside the agent
	CodexCommand func(actions []string) string // of the parts of a command
}

// maxLine limits the length of a line, in bytes.
const maxLine = 32 << 20

var (
	errTooLong = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
	errCut     = errors.New("the line is cut off")
)

// buffers are buffers for lines.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// eachLine calls each for every line of a transcript with its number. The text is valid until each
// returns. It reads to the end if each returns an error, which it passes to problem.
func eachLine(r io.Reader, each func(n int, text []byte) error, problem func(n int, err error)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	text := *buffers.Get().(*[]byte)
	defer func() { buffers.Put(&text) }()
	for n := 1; ; n++ {
		text = text[:0]
		size, tooLong := 0, false
		var err error
		for {
			var part []byte
			part, err = in.ReadSlice('\n')
			size += len(part)
			if tooLong = tooLong || len(text)+len(part) > maxLine; !tooLong {
				if cap(text)-len(text) < len(part) { // append would copy a long line more often
					text = slices.Grow(text, min(2*len(text), maxLine)-len(text)+len(part))
				}
				text = append(text, part...)
			}
			if err != bufio.ErrBufferFull {
				break
			}
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err == io.EOF && size == 0 {
			return nil
		}
		failure := errTooLong
		if tooLong {
			text = text[:0]
		} else if failure = each(n, text); failure != nil && err == io.EOF {
			failure = errCut
		}
		if failure != nil {
			problem(n, failure)
		}
		if err == io.EOF {
			return nil
		}
	}
}

// unreadable returns the error for a line that is not JSON, or whose members have other types.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return errors.New("the line is not JSON")
	}
	return fmt.Errorf("the line cannot be read: %w", err)
}

func parseTime(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{} // a call without a time is not covered by an earlier decision
	}
	return at
}
