// Package tape records what a run got from the world, and plays it again without the world
// (spec/25-tapes.md); its API promises nothing.
//
// A tape is text, one JSON object a line: a Header, then what the program got, in the order in
// which it got it, then how the run ended. It may be edited by hand.
package tape

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// Version is that of the form; Engine that of what the machine makes of a program's effects:
// which it makes, in which order, and where it looks for what comes meanwhile.
const (
	Version = 1
	Engine  = 2
)

// Header is a tape's first line. What is missing has its zero value.
type Header struct {
	Tape    int             `json:"tape"`
	Run     string          `json:"run,omitempty"`
	Program string          `json:"program,omitempty"` // the file's name
	IR      string          `json:"ir,omitempty"`      // SHA-256 of the compiled program, in hex
	Engine  int             `json:"engine,omitempty"`
	Args    []string        `json:"args,omitempty"`
	Inputs  json.RawMessage `json:"inputs,omitempty"`
	Session *Session        `json:"session,omitempty"`
	Seed    string          `json:"seed,omitempty"` // a decimal Int
	Emit    string          `json:"emit,omitempty"` // the form of the output, "text" when it is missing
	Flags   Flags           `json:"flags,omitzero"`
}

// Session is what the application gave the run (std::app).
type Session struct {
	Cwd      string          `json:"cwd,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Render   []string        `json:"render,omitempty"`
}

// Flags are what else of a run's surroundings the program's effects depend on.
type Flags struct {
	Asks    bool `json:"asks,omitempty"`    // there was a person who could be asked
	Tools   bool `json:"tools,omitempty"`   // the application had tools
	Audited bool `json:"audited,omitempty"` // calls of tools were recorded
	// Numbered says that the run was kept: what it puts out as NDJSON has numbers.
	Numbered bool `json:"numbered,omitempty"`
}

// End is a tape's last line: the exit code of the command.
type End struct {
	Code int `json:"code"`
}

// What a place says that happened in the midst of a task's turn.
const (
	PlaceMemory = "memory" // a look found too much memory in use
	PlaceOver   = "over"   // the run's context ended
	PlaceWaits  = "waits"  // an effect could not be performed at once
)

// Entry is a line of a tape.
type Entry struct {
	E       int64           `json:"e,omitempty"`     // the effect's number
	Place   string          `json:"place,omitempty"` // in place of an effect's end
	Q       effect.Kind     `json:"q,omitempty"`
	Of      int64           `json:"of,omitempty"` // the effect that opened what this one is about
	R       json.RawMessage `json:"r,omitempty"`
	V       json.RawMessage `json:"v,omitempty"`
	Lines   []string        `json:"lines,omitempty"`   // of an exchange.next
	Decided []int           `json:"decided,omitempty"` // which of them rules have decided
	Sizes   []int           `json:"sizes,omitempty"`   // of the lines as they came, where some were translated
	Err     *Failure        `json:"err,omitempty"`
	W       *[2]int64       `json:"w,omitempty"` // when it came in the midst of a turn: vm.Moment
	End     *End            `json:"end,omitempty"`

	line int
}

// at is where an entry came, if that was in the midst of a turn.
func (e *Entry) at() (vm.Moment, bool) {
	if e.W == nil {
		return vm.Moment{}, false
	}
	return vm.Moment{Taken: e.W[0], Ticks: e.W[1]}, true
}

// Tape is a tape that was read.
type Tape struct {
	Header
	Entries []Entry
	Ended   *End // nil when the tape was cut off
}

// maxLine bounds a line of a tape, in bytes.
const maxLine = 256 << 20

// Mistake is a line that cannot be read.
type Mistake struct {
	Line int // from 1
	Why  string
}

func (e *Mistake) Error() string { return fmt.Sprintf("%d: %s", e.Line, e.Why) }

// Read reads a tape. The error is a *Mistake where the text is at fault.
func Read(r io.Reader) (*Tape, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	t := &Tape{}
	n := 0
	for in.Scan() {
		n++
		text := bytes.TrimSpace(in.Bytes())
		switch {
		case len(text) == 0:
			continue
		case t.Tape == 0:
			if err := t.begin(text); err != nil {
				return nil, &Mistake{n, err.Error()}
			}
			continue
		case t.Ended != nil:
			return nil, &Mistake{n, "nothing comes after the end of a tape"}
		}
		e := Entry{line: n}
		if err := strict(text, &e); err != nil {
			return nil, &Mistake{n, err.Error()}
		}
		if err := e.check(); err != nil {
			return nil, &Mistake{n, err.Error()}
		}
		if e.End != nil {
			t.Ended = e.End
			continue
		}
		t.Entries = append(t.Entries, e)
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, &Mistake{n + 1, "the line is longer than 256 MiB"}
	} else if err != nil {
		return nil, err
	}
	if t.Tape == 0 {
		return nil, &Mistake{max(n, 1), notATape}
	}
	return t, nil
}

const notATape = `a tape begins with {"tape":1, …}; concerto run --record FILE writes one`

// begin reads the first line.
func (t *Tape) begin(text []byte) error {
	var v struct{ Tape json.Number }
	if json.Unmarshal(text, &v) != nil || v.Tape == "" {
		return errors.New(notATape)
	}
	if n, err := strconv.Atoi(string(v.Tape)); err != nil || n < 1 {
		return errors.New(notATape)
	} else if n > Version {
		return fmt.Errorf("the tape was made by a newer version: its form is %d, and this concerto reads %d", n, Version)
	}
	if err := strict(text, &t.Header); err != nil {
		return err
	}
	if t.Seed != "" {
		if _, err := strconv.ParseInt(t.Seed, 10, 64); err != nil {
			return fmt.Errorf("seed %q is no Int", t.Seed)
		}
	}
	return nil
}

// strict decodes an object all of whose members are known.
func strict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value on a line")
	}
	return nil
}

// check says what is wrong with an entry by itself.
func (e *Entry) check() error {
	switch {
	case e.End != nil:
		return nil
	case e.Place == PlaceMemory || e.Place == PlaceOver:
		return nil
	case e.Place != "" && e.Place != PlaceWaits:
		return fmt.Errorf("place %q is none of %s, %s, %s", e.Place, PlaceMemory, PlaceOver, PlaceWaits)
	case e.Q == "":
		return errors.New("a line of a tape has q (which kind of effect), place or end")
	case !Recorded(e.Q):
		if effect.Of(e.Q) == nil {
			return fmt.Errorf("there is no effect of kind %q", e.Q)
		}
		return fmt.Errorf("an effect of kind %s is not recorded: it follows from the run itself", e.Q)
	}
	if _, _, err := e.Outcome(0); err != nil {
		return fmt.Errorf("what %s gave: %w", e.Q, err)
	}
	return nil
}

// Recorded reports whether what effects of a kind give is written down. Output is made again, and
// what follows from the run itself is.
func Recorded(k effect.Kind) bool {
	row := effect.Of(k)
	switch {
	case row == nil || row.By == effect.Unheard || row.By == effect.Tests:
		return false
	case row.By == effect.Applications:
		return true
	}
	return row.Class != effect.ClassTold && row.Class != effect.ClassDerived
}
