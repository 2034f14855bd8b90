package effect

import (
	"fmt"
	"strings"
)

// ExchangeGate runs a gate of an exchange whose last turn has ended: a command, in the directory of
// the exchange. If the gate is a function, the program has run it, and the request only reads the
// directory's tree. The command's variable CONCERTO_GATE_KEY is the key of the effect. The result
// is a *GateOutput.
type ExchangeGate struct {
	ID      int64    `json:"id"`
	Gate    string   `json:"gate"` // the command as a text, or the name of the function
	Turn    int64    `json:"turn"` // number of the turn that has ended, from 1
	Command []string `json:"command,omitempty"`
	Timeout float64  `json:"timeout,omitempty"` // in seconds; 0 means 1800
	Failure string   `json:"failure,omitempty"` // of a function: why it has not passed; "" if it has
}

// GateOutput is the result of ExchangeGate.
type GateOutput struct {
	Failure string `json:"failure,omitempty"` // why the gate has not passed, such as "make exited with status 2"; "" if it has
	Output  string `json:"output,omitempty"`  // the end of a command's output, at most 16 KiB
	Tree    string `json:"tree,omitempty"`    // Git's tree of the directory after the gate; "" outside of a repository
	MS      int64  `json:"ms"`                // duration of the command in milliseconds
}

// Proof is a gate that has passed: an element of the member proved_by of a result.
type Proof struct {
	Gate string `json:"gate"`           // as in ExchangeGate
	Turn int64  `json:"turn"`           // as in ExchangeGate
	MS   int64  `json:"ms"`             // duration in milliseconds
	Tree string `json:"tree,omitempty"` // as in GateOutput
}

// Proofs describes the gates of an exchange. The zero value is that of an exchange without gates.
type Proofs struct {
	Turn    int64    // number of the last turn whose result gates have decided about
	Passed  []string // the gates that have passed after that turn, in order
	Failure string   // of the gate that has not passed; "" for none
}

// Add adds a gate that has ended.
func (p *Proofs) Add(r *ExchangeGate, o *GateOutput) {
	if r.Turn != p.Turn {
		*p = Proofs{Turn: r.Turn}
	}
	if p.Failure = o.Failure; p.Failure == "" {
		p.Passed = append(p.Passed, r.Gate)
	}
}

// String returns a text for people, such as "proved by go test ./... (turn 2)"; "" without gates.
func (p *Proofs) String() string {
	switch {
	case p.Turn == 0:
		return ""
	case p.Failure != "":
		return fmt.Sprintf("not proved (turn %d): %s", p.Turn, p.Failure)
	}
	return fmt.Sprintf("proved by %s (turn %d)", strings.Join(p.Passed, ", "), p.Turn)
}

// Kind returns KindExchangeGate.
func (*ExchangeGate) Kind() Kind { return KindExchangeGate }
