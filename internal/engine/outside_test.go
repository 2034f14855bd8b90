package engine

import (
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/host"
)

// TestOutsideIsStored checks that a decision outside of exchanges is stored before the host is
// answered, and fails if that is impossible.
func TestOutsideIsStored(t *testing.T) {
	var x outsideDecisions
	d := &host.OutsideDecision{Host: "H", Kind: hostmsg.Approval, Verdict: "allow", Line: "1:1"}
	if x.record(d) == nil {
		t.Error("a decision was recorded without a ledger")
	}
	full := errors.New("full")
	x.begin(func() error { return full })
	if err := x.record(d); err != full {
		t.Errorf("error = %v, want that of the store", err)
	}
}
