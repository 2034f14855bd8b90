// Package result reads and writes the results of evals: NDJSON with a line for the eval, one for
// each sample, and one for the end, as spec/49-eval.md describes. A result may be written by hand.
package result

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// Version is the version of the format.
const Version = 1

// Ext is the extension of the files of results.
const Ext = ".ndjson"

// The kinds of metrics.
const (
	KindBool   = "bool"
	KindNumber = "number"
)

// The directions of metrics: which values are better.
const (
	Higher = "higher"
	Lower  = "lower"
)

// The statuses of samples.
const (
	StatusScored = "scored" // the function returned metrics
	StatusFailed = "failed" // the program is at fault
	StatusError  = "error"  // the program is not at fault; nothing is scored
)

// DefaultMargin is the margin of a metric that states none.
const DefaultMargin = 0.05

// Result is the result of an eval, or of a variant of it.
type Result struct {
	Header
	Samples []*Sample
	End     *End // nil if the eval was interrupted
}

// Header is the first line of a result.
type Header struct {
	Eval     int      `json:"eval"` // version of the format
	Name     string   `json:"name,omitempty"`
	Variant  string   `json:"variant,omitempty"`
	Function string   `json:"function,omitempty"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Program  string   `json:"program,omitempty"`
	Data     *Data    `json:"data,omitempty"`
	Metrics  []Metric `json:"metrics"`
	Repeat   int      `json:"repeat,omitempty"` // repetitions per case; 0 if unknown
	Seed     int64    `json:"seed"`
	Started  string   `json:"started,omitempty"`
}

// Data identifies a dataset.
type Data struct {
	Source string `json:"source,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Cases  int    `json:"cases,omitempty"`
}

// Metric describes a metric.
type Metric struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"`
	Better string  `json:"better"`
	Gate   bool    `json:"gate"`   // the metric decides the verdict
	Margin float64 `json:"margin"` // largest acceptable loss, in the metric's unit
}

// Sample is one repetition of a case.
type Sample struct {
	Case string          `json:"case"`
	Rep  int             `json:"rep"`           // from 1
	Row  json.RawMessage `json:"row,omitempty"` // nil matches any content
	// Cluster is the value that the cases of a cluster share; nil if the case is in no cluster.
	Cluster    json.RawMessage      `json:"cluster,omitempty"`
	Status     string               `json:"status"`
	Scores     map[string]Score     `json:"scores"`
	Why        map[string]string    `json:"why,omitempty"`    // reasons by metric
	Judges     map[string]string    `json:"judges,omitempty"` // hashes of judges by metric
	Agreements map[string]Agreement `json:"agreements,omitempty"`
	Error      *SampleError         `json:"error,omitempty"`
	MS         *float64             `json:"ms,omitempty"` // duration in milliseconds
	Calls      int64                `json:"calls"`
	TokensIn   *int64               `json:"tokens_in,omitempty"`
	TokensOut  *int64               `json:"tokens_out,omitempty"`
	models.Parts
	CostUSD      *float64 `json:"cost_usd,omitempty"`
	JudgeCostUSD *float64 `json:"judge_cost_usd,omitempty"`
	Cached       bool     `json:"cached"`
	Tape         string   `json:"tape,omitempty"`
}

// Agreement is a judge's score of a sample, as a Bool, and the label by a person.
type Agreement struct {
	Judge bool `json:"judge"`
	Label bool `json:"label"`
}

// SampleError describes why a sample has the status StatusFailed or StatusError. At is a position
// FILE:LINE:COLUMN.
type SampleError struct {
	Kind    string `json:"kind,omitempty"`
	Message string `json:"message,omitempty"`
	At      string `json:"at,omitempty"`
}

// End is the content of the last line.
type End struct {
	Exit int `json:"exit"` // exit code of the command
}

// Score is the value of a metric in a sample. The zero value means "not applicable".
type Score struct {
	Kind  string  // KindBool, KindNumber, or "" if there is no value
	Value float64 // 0 or 1 for a Bool
}

// BoolScore returns the score of a Bool metric.
func BoolScore(v bool) Score {
	if v {
		return Score{KindBool, 1}
	}
	return Score{KindBool, 0}
}

// NumberScore returns the score of a number metric. v must be finite.
func NumberScore(v float64) Score { return Score{KindNumber, v} }

// MarshalJSON returns true, false, a number or null.
func (s Score) MarshalJSON() ([]byte, error) {
	switch s.Kind {
	case KindBool:
		return json.Marshal(s.Value == 1)
	case KindNumber:
		return json.Marshal(s.Value)
	}
	return []byte("null"), nil
}

// Metric returns the metric with the given name, or nil.
func (h *Header) Metric(name string) *Metric {
	for i := range h.Metrics {
		if h.Metrics[i].Name == name {
			return &h.Metrics[i]
		}
	}
	return nil
}

// Content returns the row in canonical form, which identifies its content; "" without a row.
func (s *Sample) Content() string { return canonical(s.Row) }

// ClusterID returns the text that identifies the sample's cluster; "" without a cluster.
func (s *Sample) ClusterID() string { return canonical(s.Cluster) }

// canonical returns the canonical form of a JSON text that is valid or nil.
func canonical(text json.RawMessage) string {
	if text == nil {
		return ""
	}
	c, err := jcs.Canonical(text)
	if err != nil {
		return string(text) // Read rejects such a text
	}
	return string(c)
}

// Line returns the sample as a line of a result.
func (s *Sample) Line() ([]byte, error) {
	b, err := jsonwrite.Append(nil, s)
	return ndjson.End(b, 0), err
}

// Encode returns the result as NDJSON.
func (r *Result) Encode() ([]byte, error) {
	type end struct {
		End *End `json:"end"`
	}
	lines := []any{&r.Header}
	for _, s := range r.Samples {
		lines = append(lines, s)
	}
	if r.End != nil {
		lines = append(lines, end{r.End})
	}
	var b []byte
	for i, line := range lines {
		at := len(b)
		var err error
		if b, err = jsonwrite.Append(b, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		b = ndjson.End(b, at)
	}
	return b, nil
}
