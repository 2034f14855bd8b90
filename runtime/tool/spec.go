package tool

import (
	"encoding/json"
	"math"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Spec is a definition without its handler, in the form that files, the manifest and the protocol
// use. Times are in seconds, and missing members have their default values.
type Spec struct {
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	Parameters       json.RawMessage `json:"parameters,omitempty"`
	Output           json.RawMessage `json:"output,omitempty"`
	Version          int             `json:"version,omitempty" min:"1"`
	Scope            Scope           `json:"scope,omitempty"`
	Category         string          `json:"category,omitempty"`
	RequiresApproval bool            `json:"requires_approval,omitempty"`
	ApprovalTimeout  float64         `json:"approval_timeout,omitempty"`
	OnTimeout        string          `json:"on_timeout,omitempty"`
	Timeout          float64         `json:"timeout,omitempty"`
	IdleTimeout      float64         `json:"idle_timeout,omitempty"`
	Sequential       bool            `json:"sequential,omitempty"`
	MaxConcurrent    int             `json:"max_concurrent,omitempty" min:"1"`
	Requires         []string        `json:"requires,omitempty"`
}

// Spec returns the definition without its handler.
func (d *Definition) Spec() Spec {
	return Spec{Name: d.Name, Description: d.Description, Parameters: d.Parameters, Output: d.Output, Version: d.Version, Scope: d.Scope, Category: d.Category,
		RequiresApproval: d.RequiresApproval, ApprovalTimeout: d.ApprovalTimeout.Seconds(), OnTimeout: d.OnTimeout, Timeout: d.Timeout.Seconds(),
		IdleTimeout: d.IdleTimeout.Seconds(), Sequential: d.Sequential, MaxConcurrent: d.MaxConcurrent, Requires: d.Requires}
}

// With returns the definition that consists of the Spec and a handler.
func (s Spec) With(h Handler) Definition {
	return Definition{Name: s.Name, Description: s.Description, Parameters: s.Parameters, Output: s.Output, Handler: h, Version: s.Version, Scope: s.Scope,
		Category: s.Category, RequiresApproval: s.RequiresApproval, ApprovalTimeout: duration(s.ApprovalTimeout), OnTimeout: s.OnTimeout,
		Timeout: duration(s.Timeout), IdleTimeout: duration(s.IdleTimeout), Sequential: s.Sequential, MaxConcurrent: s.MaxConcurrent, Requires: s.Requires}
}

// duration converts seconds. A positive value never becomes 0, because 0 means the default. A value
// beyond the limit remains beyond it, so that validation can report it.
func duration(s float64) time.Duration {
	const most = 1e9 // in seconds
	ns := math.Max(-most, math.Min(s, most)) * float64(time.Second)
	if d := time.Duration(math.Round(ns)); d != 0 || s == 0 {
		return d
	}
	return time.Nanosecond
}

// listedWire is the JSON form of a Listed.
type listedWire struct {
	Spec
	Owner    string  `json:"owner"`
	HiddenBy string  `json:"hidden_by,omitempty"`
	Calls    int64   `json:"calls"`
	Failed   int64   `json:"failed"`
	P50MS    float64 `json:"p50_ms"`
	P99MS    float64 `json:"p99_ms"`
}

// MarshalJSON returns the tool in the form of `tools/list`.
func (l Listed) MarshalJSON() ([]byte, error) {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return jsonwrite.Encode(listedWire{l.Spec(), l.Owner, l.HiddenBy, l.Stats.Calls, l.Stats.Failed, ms(l.Stats.P50), ms(l.Stats.P99)})
}
