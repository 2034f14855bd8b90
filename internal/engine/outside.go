package engine

import (
	"errors"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/vm"
)

// outsideDecisions records in the run's ledgers what was decided about requests of hosts outside
// of exchanges. It is safe for concurrent use.
type outsideDecisions struct {
	mu      sync.Mutex
	ready   bool // ledgers is complete
	ledgers []*ledger.Run
	store   func() error // stores what was recorded, before a host is answered; nil for ledgers in files
}

func (x *outsideDecisions) begin(store func() error, all ...*ledger.Run) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ready, x.ledgers, x.store = true, all, store
}

func (x *outsideDecisions) record(d *host.OutsideDecision) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ready {
		return errors.New("the run has no ledger yet")
	}
	decided := &vm.Decision{Kind: d.Kind, Host: d.Host, ID: d.ID, Asked: d.Asked, Problem: d.Problem, Session: d.Session, By: effect.ByRules, Name: d.Rules}
	if d.By != "" {
		decided.By = d.By
	}
	if d.Source != "" {
		decided.By, decided.Name, decided.Source = effect.ByAgent, d.Host, d.Source
	}
	if d.Kind == effect.UndeliveredDecision {
		decided.By, decided.Name = effect.ByHost, d.Host
	}
	if decided.Answer = d.Answer; d.Verdict != "" && d.Answer == nil {
		decided.Answer = []byte(`"` + d.Verdict + `"`)
	}
	made := string(decided.Answer) + decided.Problem
	for _, l := range x.ledgers {
		if err := l.DecidedOutside(decided, d.Line); err != nil {
			return err
		}
	}
	if string(decided.Answer)+decided.Problem != made { // the run was killed before the host received it
		d.Replace(decided.Answer, decided.Problem)
	}
	if x.store != nil {
		return x.store()
	}
	return nil
}
