// Package report builds the report of a run from its events: what the run did, item by item, with
// its totals and decisions (spec/39-report.md). Reports of a run and of its journal or tape are
// equal, apart from their times.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/ir"
)

// Version is the version of the format. The first member of a report contains it.
const Version = 1

// Report is the report of a run. Lists are never nil.
type Report struct {
	Version   int             `json:"concerto_report"`
	Run       Run             `json:"run"`
	Totals    Totals          `json:"totals"`
	Cache     []*CacheUse     `json:"cache,omitempty"` // none if no provider has a cache
	Fleet     *Fleet          `json:"fleet,omitempty"` // nil for a run that is no fleet
	Items     []*Item         `json:"items"`
	Decisions []Decision      `json:"decisions"`
	Graph     json.RawMessage `json:"graph"` // of the program (spec/38-graph.md); null without one
	Files     []File          `json:"files"` // the program's source files
	Gaps      []string        `json:"gaps"`  // what the source of the report does not contain
	Tests     []Test          `json:"tests,omitempty"`
}

// Test is a test in the report of a test run. Its first item is a run.
type Test struct {
	Name string `json:"name"`
	Item int    `json:"item"`
}

// Sources of a report.
const (
	FromRun        = "run"
	FromJournal    = "journal"
	FromTape       = "tape"
	FromTranscript = "transcript"
)

// Run describes the run of a report.
type Run struct {
	ID      string          `json:"id"`                // "" if unknown
	Project string          `json:"project,omitempty"` // its name; "" if unknown
	Program string          `json:"program"`
	Source  string          `json:"source"` // FromRun, FromJournal, FromTape or FromTranscript
	State   string          `json:"state"`
	Exit    *int            `json:"exit"`    // null until the run has ended
	Started *string         `json:"started"` // RFC 3339; null if unknown
	Ended   *string         `json:"ended"`
	Seconds *float64        `json:"seconds"` // time of the last event; null if unknown
	Args    []string        `json:"args"`
	Inputs  json.RawMessage `json:"inputs"`
	Version string          `json:"version"` // of Concerto; "" if unknown
	Engine  string          `json:"engine"`
	Env     []string        `json:"env"` // names of the environment variables that the program read
	Flags   []string        `json:"flags"`
	Trace   string          `json:"trace_id,omitempty"` // hexadecimal
}

// File is a source file of the program.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Item is a part of a run (spec/39-report.md). Times are seconds since the start of the run. The
// members after Error depend on the kind; those that a kind does not have are omitted.
type Item struct {
	N      int      `json:"n"` // from 1, in the order of the beginnings
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	Task   int64    `json:"task"`   // 1 is main
	Parent *int     `json:"parent"` // the item that caused this one
	At     *string  `json:"at"`     // FILE:LINE:COLUMN in the program's own files
	Start  *float64 `json:"start"`
	End    *float64 `json:"end"` // null if the item is open
	Status string   `json:"status"`
	Effect *int64   `json:"effect"`
	Error  string   `json:"error,omitempty"`
	Span   string   `json:"span_id,omitempty"` // hexadecimal, of items that are exported as spans

	Details Details `json:"-"`
	Texts   Texts   `json:"-"`
	// Cut contains the original length in bytes of each text that was cut.
	Cut map[string]int `json:"cut,omitempty"`

	used  models.Sum    // of an attempt at a model, or an exchange
	first time.Duration // from the start to the first piece of the reply, if the run has measured it
}

// MarshalJSON writes the members of Details and Texts as members of the item.
func (x *Item) MarshalJSON() ([]byte, error) {
	type plain Item // without this method
	var out []byte
	for _, part := range []any{(*plain)(x), &x.Details, &x.Texts} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		switch {
		case out == nil:
			out = text
		case len(text) > len("{}"):
			out = append(append(out[:len(out)-1], ','), text[1:]...)
		}
	}
	return out, nil
}

// UnmarshalJSON reads what MarshalJSON has written.
func (x *Item) UnmarshalJSON(text []byte) error {
	type plain Item
	return errors.Join(json.Unmarshal(text, (*plain)(x)), json.Unmarshal(text, &x.Details), json.Unmarshal(text, &x.Texts))
}

// Details contains the members that only some kinds of items have.
type Details struct {
	Stage      string `json:"stage,omitempty"` // PIPELINE/STAGE
	Connection string `json:"connection,omitempty"`
	Model      string `json:"model,omitempty"`
	Attempt    int64  `json:"attempt,omitempty"`
	TokensIn   *int64 `json:"tokens_in,omitempty"`
	TokensOut  *int64 `json:"tokens_out,omitempty"`
	models.Parts
	Estimated  bool            `json:"estimated,omitempty"` // the provider has not reported all tokens
	Cost       json.RawMessage `json:"cost_usd,omitempty"`  // null if a price is unknown
	StopReason string          `json:"stop_reason,omitempty"`
	Host       string          `json:"host,omitempty"`
	Workspace  string          `json:"workspace,omitempty"` // of an exchange and its messages, or that the item is about
	Queue      string          `json:"queue,omitempty"`     // the merge queue that the item is about
	Session    string          `json:"session,omitempty"`
	ID         json.RawMessage `json:"id,omitempty"`
	Type       string          `json:"type,omitempty"`
	Channel    string          `json:"channel,omitempty"`
	Percent    *float64        `json:"percent,omitempty"`
	Actor      string          `json:"actor,omitempty"` // who answered
	Rule       string          `json:"rule,omitempty"`  // place of the handler that decided, as FILE:LINE:COLUMN
	Wait       *float64        `json:"wait,omitempty"`  // time until the answer, in seconds
	ErrorKind  string          `json:"error_kind,omitempty"`
	Cause      []Cause         `json:"cause,omitempty"`
	Last       []int           `json:"last,omitempty"` // the messages before an error
}

// Texts contains the contents of an item: what a program, a model or a host wrote.
type Texts struct {
	Prompt  json.RawMessage `json:"prompt,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Reply   json.RawMessage `json:"reply,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Text    json.RawMessage `json:"text,omitempty"`
	Message json.RawMessage `json:"message,omitempty"`
}

// Cause is an error that caused another one.
type Cause struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// The statuses of an item.
const (
	OK        = "ok"
	Failed    = "failed"
	Cancelled = "cancelled"
	Open      = "open"
	Unknown   = "unknown" // the process was killed, and whether the effect happened is unknown
)

// Decision is an answer to a request, or its end without an answer.
type Decision struct {
	Item    int             `json:"item"`
	Request json.RawMessage `json:"request"`
	Answer  json.RawMessage `json:"answer"`
	Actor   ledger.Part     `json:"actor"`
	Path    []ledger.Part   `json:"path"` // the participants in the decision, if a handler decided
	Wait    *float64        `json:"wait"`
	// Source is the place of the handler that decided and its line of source, or null.
	Source *string `json:"source"`
}

// seconds converts a time to seconds, rounded to a microsecond.
func seconds(d time.Duration) *float64 {
	s := float64(d.Round(time.Microsecond)) / float64(time.Second)
	return &s
}

// setProgram adds the graph and the source files of the program.
func (r *Report) setProgram(p *ir.Program) error {
	r.Files = []File{}
	for _, f := range p.Files {
		if f.Text != "" {
			r.Files = append(r.Files, File(f))
		}
	}
	g, err := graph.Build(p)
	if err != nil {
		r.Graph = json.RawMessage("null")
		r.Gaps = append(r.Gaps, "no graph: "+err.Error())
		return nil
	}
	r.Graph, err = g.MarshalJSON()
	return err
}

// NewerError reports a report of a format that this version does not know.
type NewerError struct{ Version int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("report version %d is not supported; upgrade concerto", e.Version)
}

// ErrNoReport means that a text is not a report.
var ErrNoReport = errors.New("not a report")

// Read reads a report from its JSON form. The error is ErrNoReport or a *NewerError.
func Read(text []byte) (*Report, error) {
	var head struct {
		Version int `json:"concerto_report"`
	}
	if json.Unmarshal(text, &head) != nil || head.Version < 1 {
		return nil, ErrNoReport
	}
	if head.Version > Version {
		return nil, &NewerError{head.Version}
	}
	r := &Report{}
	if json.Unmarshal(text, r) != nil {
		return nil, ErrNoReport
	}
	return r, nil
}
