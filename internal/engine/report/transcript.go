package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// transcriptRecord contains the members of the records of a transcript (spec/20-transcript.md)
// that a report shows.
type transcriptRecord struct {
	Time  float64 `json:"t"`
	Kind  string  `json:"kind"`
	Task  int64   `json:"task"`
	Stage string  `json:"stage"`
	Agent string  `json:"agent"`

	Attempt    int64           `json:"attempt"`
	Connection string          `json:"connection"`
	Model      string          `json:"model"`
	System     json.RawMessage `json:"system"`
	Messages   json.RawMessage `json:"messages"`
	Schema     json.RawMessage `json:"schema"`

	TokensIn  *int64 `json:"tokens_in"`
	TokensOut *int64 `json:"tokens_out"`
	models.Parts
	Cost       json.RawMessage   `json:"cost_usd"`
	StopReason string            `json:"stop_reason"`
	Text       string            `json:"text"`
	ToolCalls  []effect.ToolCall `json:"tool_calls"`

	Reason  string `json:"reason"`
	Message string `json:"message"`

	Tool      string  `json:"tool"`
	ID        string  `json:"id"`
	Arguments *string `json:"args"`
	Result    *string `json:"result"`
	Failed    bool    `json:"failed"`
}

// transcriptReader builds the items of a transcript.
type transcriptReader struct {
	r    *Report
	open []*Item // attempts and tool calls that have not ended
	last float64
	done bool // the last record was read
}

// OfTranscript returns the report of the use of models that a transcript contains. A line that is
// no record ends it. ok is false if the text is not a transcript.
func OfTranscript(text []byte) (r *Report, ok bool) {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	var head struct {
		Version int    `json:"concerto_transcript"`
		Started string `json:"started"`
		Program string `json:"program"`
	}
	if json.Unmarshal(first, &head) != nil || head.Version != 1 {
		return nil, false
	}
	r = &Report{Version: Version, Items: []*Item{}, Decisions: []Decision{}, Files: []File{}, Graph: json.RawMessage("null")}
	r.Gaps = []string{"no hosts, emits or decisions: built from a transcript"}
	r.Run = Run{Program: head.Program, Source: FromTranscript, State: Killed, Args: []string{}, Env: []string{}, Flags: []string{}}
	started, err := time.Parse(time.RFC3339, head.Started)
	if err == nil {
		r.Run.Started = date(started)
	}
	t := transcriptReader{r: r}
	run := t.add(event.Run, "main", &transcriptRecord{Task: 1})
	for n := 2; len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		x := &transcriptRecord{}
		if json.Unmarshal(line, x) != nil {
			r.Gaps = append(r.Gaps, fmt.Sprintf("line %d of the transcript is not complete; the report contains the part before", n))
			break
		}
		t.last = x.Time
		t.record(x)
	}
	r.Run.Seconds = &t.last
	if t.done {
		end := t.last
		run.End, run.Status, r.Run.State = &end, Unknown, "finished"
		r.Gaps = append(r.Gaps, "whether the run has failed: a transcript does not contain it")
		if err == nil {
			r.Run.Ended = date(started.Add(time.Duration(end * float64(time.Second))))
		}
	}
	r.Totals = totals(r.Items)
	r.SetCache(nil)
	return r, true
}

// add adds an item that begins with a record.
func (t *transcriptReader) add(kind event.Kind, name string, x *transcriptRecord) *Item {
	start := x.Time
	item := &Item{N: len(t.r.Items) + 1, Kind: string(kind), Name: name, Task: x.Task, Start: &start, Status: Open}
	item.Details = Details{Stage: x.Stage, Connection: x.Connection, Model: x.Model, Attempt: x.Attempt}
	if item.N > 1 {
		item.Parent = new(1)
	}
	t.r.Items = append(t.r.Items, item)
	return item
}

// end returns the item that a record ends, or nil.
func (t *transcriptReader) end(kind event.Kind, x *transcriptRecord, name string) *Item {
	for i := len(t.open) - 1; i >= 0; i-- {
		item := t.open[i]
		if item.Kind != string(kind) || item.Task != x.Task || item.Name != name || item.Details.Attempt != x.Attempt || x.ID != "" && string(item.Details.ID) != string(encode(x.ID)) {
			continue
		}
		t.open = append(t.open[:i], t.open[i+1:]...)
		end := x.Time
		item.End, item.Status = &end, OK
		return item
	}
	return nil
}

func (t *transcriptReader) record(x *transcriptRecord) {
	switch x.Kind {
	case "request":
		item := t.add(event.Model, x.Agent, x)
		item.Texts.Request = encode(struct {
			System   json.RawMessage `json:"system,omitempty"`
			Messages json.RawMessage `json:"messages,omitempty"`
			Schema   json.RawMessage `json:"schema,omitempty"`
		}{x.System, x.Messages, x.Schema})
		t.open = append(t.open, item)
	case "reply":
		if item := t.end(event.Model, x, x.Agent); item != nil {
			item.reply(x)
		}
	case "failure":
		if item := t.end(event.Model, x, x.Agent); item != nil {
			item.Status, item.Error, item.Details.ErrorKind = Failed, x.Message, x.Reason
			item.used = models.Sum{Calls: 1, FailedCalls: 1}
			if x.TokensIn != nil {
				item.setUsed(x.used(item.used))
			}
		}
	case effect.StepToolCall:
		item := t.add(event.Tool, x.Tool, x)
		item.Details.ID, item.Texts.Args = encode(x.ID), encode(x.Arguments)
		t.open = append(t.open, item)
	case effect.StepToolResult:
		if item := t.end(event.Tool, x, x.Tool); item != nil {
			item.Texts.Result = encode(x.Result)
			if x.Failed {
				item.Status = Failed
			}
		}
	case "retry", "fallback", "repair":
		item := t.add(event.Kind(x.Kind), x.Agent, x)
		item.End, item.Status, item.Texts.Text = item.Start, OK, encode(x.Message)
	case "end":
		t.done = true
	}
}

// reply sets the members of an attempt from the record of its reply.
func (x *Item) reply(r *transcriptRecord) {
	x.setUsed(r.used(models.Sum{Calls: 1}))
	x.Details.Model, x.Details.StopReason = r.Model, r.StopReason
	x.Texts.Reply = encode(struct {
		Text      string            `json:"text"`
		ToolCalls []effect.ToolCall `json:"tool_calls,omitempty"`
	}{r.Text, r.ToolCalls})
}

// used adds the tokens and the cost of a record to a sum.
func (r *transcriptRecord) used(s models.Sum) models.Sum {
	cost, err := budget.ParseDollars(string(r.Cost))
	if err != nil {
		s.Unpriced++
	}
	s.Add(models.Sum{TokensIn: *r.TokensIn, TokensOut: *r.TokensOut, Parts: r.Parts, Cost: int64(cost)})
	return s
}
