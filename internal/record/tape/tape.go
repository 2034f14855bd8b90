// Package tape records the results of a run's effects, and replays the run from them
// (spec/25-tapes.md).
//
// A tape is text with one JSON object per line: a Header, the results in the order in which the
// program received them, and an End. People may edit it.
package tape

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// Version is the version of the format. VMVersion is the version of the VM's behaviour: which
// effects a program performs, in which order, and when the VM checks for events.
const (
	Version   = 1
	VMVersion = 2
)

// Header is the first line of a tape. Missing members have their zero value.
type Header struct {
	Tape    int             `json:"tape"`
	Run     string          `json:"run,omitempty"`
	Program string          `json:"program,omitempty"` // name of the file
	IR      string          `json:"ir,omitempty"`      // SHA-256 of the compiled program, in hex
	Engine  int             `json:"engine,omitempty"`
	Args    []string        `json:"args,omitempty"`
	Inputs  json.RawMessage `json:"inputs,omitempty"`
	Session *Session        `json:"session,omitempty"`
	Seed    string          `json:"seed,omitempty"` // a decimal Int
	Emit    string          `json:"emit,omitempty"` // format of the output; "" means "text"
	Flags   Flags           `json:"flags,omitzero"`
	Eval    *EvalCall       `json:"eval,omitempty"` // of a sample; nil for a run of main
}

// EvalCall is the call of an eval of which a tape is a sample.
type EvalCall struct {
	Function string          `json:"function"`
	Row      json.RawMessage `json:"row"`
	Models   []ModelChange   `json:"models,omitempty"`
}

// ModelChange replaces the model of an agent in a variant of an eval. It does not apply to calls of
// judges.
type ModelChange struct {
	Agent      string `json:"agent,omitempty"`      // name of the agent; "" means all agents
	Connection string `json:"connection,omitempty"` // "" means the agent's connection
	Model      string `json:"model"`
}

// Session contains the data of the application for std::app.
type Session struct {
	Cwd      string          `json:"cwd,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Render   []string        `json:"render,omitempty"`
}

// Flags contains other properties of the run that affect the program's effects.
type Flags struct {
	Asks    bool `json:"asks,omitempty"`    // a person could be asked
	Tools   bool `json:"tools,omitempty"`   // the application had tools
	Audited bool `json:"audited,omitempty"` // calls of tools were recorded
	// Numbered means that the run was durable. Its NDJSON output then contains numbers.
	Numbered bool `json:"numbered,omitempty"`
}

// End is the last line of a tape. Code is the exit code of the command. MS is the duration of a
// sample of an eval in milliseconds; other tapes do not contain it.
type End struct {
	Code int     `json:"code"`
	MS   float64 `json:"ms,omitempty"`
}

// The values of Entry.Place: events in the middle of a turn.
const (
	PlaceMemory = "memory" // a check found that the run exceeded its memory limit
	PlaceOver   = "over"   // the run's context ended
	PlaceWaits  = "waits"  // an effect could not be performed at once
)

// Entry is a line of a tape between the header and the end.
type Entry struct {
	E       int64           `json:"e,omitempty"`     // number of the effect
	Place   string          `json:"place,omitempty"` // one of the Place constants, for an event that is not the end of an effect
	Q       effect.Kind     `json:"q,omitempty"`
	Of      int64           `json:"of,omitempty"` // number of the effect that opened the object which this effect uses
	R       json.RawMessage `json:"r,omitempty"`
	V       json.RawMessage `json:"v,omitempty"`
	Lines   []string        `json:"lines,omitempty"`   // lines of an exchange.next
	Decided []int           `json:"decided,omitempty"` // indexes of the messages that rules have decided
	Sizes   []int           `json:"sizes,omitempty"`   // sizes of the original lines in bytes, if some lines were translated
	Err     *Failure        `json:"err,omitempty"`
	W       *[2]int64       `json:"w,omitempty"` // moment in the middle of a turn (vm.Moment); nil for none
	End     *End            `json:"end,omitempty"`

	line int
}

// at returns the moment of the entry if it is in the middle of a turn.
func (e *Entry) at() (vm.Moment, bool) {
	if e.W == nil {
		return vm.Moment{}, false
	}
	return vm.Moment{Consumed: e.W[0], Ticks: e.W[1]}, true
}

// Tape is a parsed tape.
type Tape struct {
	Header
	Entries []Entry
	Ended   *End // nil if the tape has no last line
}

// maxLine limits the length of a line, in bytes.
const maxLine = 256 << 20

// SyntaxError means that a line of a tape is invalid.
type SyntaxError struct {
	Line int // number of the line, from 1
	Why  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%d: %s", e.Line, e.Why) }

// Read parses a tape. The error is a *SyntaxError for an invalid line, or an error of reading.
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
				return nil, &SyntaxError{n, err.Error()}
			}
			continue
		case t.Ended != nil:
			return nil, &SyntaxError{n, "nothing comes after the end of a tape"}
		}
		e := Entry{line: n}
		if err := decodeStrict(text, &e); err != nil {
			return nil, &SyntaxError{n, err.Error()}
		}
		if err := e.check(); err != nil {
			return nil, &SyntaxError{n, err.Error()}
		}
		if e.End != nil {
			t.Ended = e.End
			continue
		}
		t.Entries = append(t.Entries, e)
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, &SyntaxError{n + 1, "the line is longer than 256 MiB"}
	} else if err != nil {
		return nil, err
	}
	if t.Tape == 0 {
		return nil, &SyntaxError{max(n, 1), notATape}
	}
	return t, nil
}

// ReadCutOff parses a tape. It ignores a last line without its end, which a killed process may have
// left.
func ReadCutOff(text []byte) (*Tape, error) {
	return Read(bytes.NewReader(text[:bytes.LastIndexByte(text, '\n')+1]))
}

const notATape = `a tape begins with {"tape":1, …}; concerto run --record FILE writes one`

// begin parses the header.
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
	if err := decodeStrict(text, &t.Header); err != nil {
		return err
	}
	if t.Seed != "" {
		if _, err := strconv.ParseInt(t.Seed, 10, 64); err != nil {
			return fmt.Errorf("seed %q is no Int", t.Seed)
		}
	}
	return nil
}

// decodeStrict decodes an object. Unknown members are an error.
func decodeStrict(text []byte, to any) error {
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

// check returns an error if an entry is invalid by itself.
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
		if effect.Lookup(e.Q) == nil {
			return fmt.Errorf("there is no effect of kind %q", e.Q)
		}
		return fmt.Errorf("an effect of kind %s is not recorded: it follows from the run itself", e.Q)
	}
	result, failed, err := e.Outcome(0)
	switch {
	case err != nil:
		return fmt.Errorf("what %s gave: %w", e.Q, err)
	case result == nil && failed == nil && e.Place != PlaceWaits && hasResult(e.Q):
		return fmt.Errorf("%s has neither v nor err", e.Q)
	}
	return nil
}

// hasResult reports whether every effect of a kind that does not fail has a result. Of other areas,
// and of closed streams, some results are nothing.
func hasResult(k effect.Kind) bool {
	row := effect.Lookup(k)
	return row.Result != nil && k != effect.KindStreamClose && slices.Contains([]effect.Area{effect.Models, effect.Clocks, effect.Files, effect.Web, effect.Commands}, row.By)
}

// Recorded reports whether the results of a kind of effect are recorded. Output and everything else
// that depends only on the run is not recorded, because the replay produces it again.
func Recorded(k effect.Kind) bool {
	row := effect.Lookup(k)
	switch {
	case row == nil || row.By == effect.ObserversOnly || row.By == effect.Tests:
		return false
	case row.By == effect.Applications:
		return true
	}
	return row.Class != effect.ClassTold && row.Class != effect.ClassDerived
}
