package stdlib

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// mostKnown is how many entries of one ledger go along with a prompt.
const mostKnown = 20

// agentKnowledge searches the ledger that argument 1 numbers among an agent's
// ledgers for the prompt in argument 2. It gives a text with one paragraph per
// entry found, "" when there is none.
func agentKnowledge(a *vm.Args) (value.Slot, error) {
	of := a.Agent(0).Knowledge
	i := a.Int(1)
	if uint64(i) >= uint64(len(of)) {
		return value.Nil, value.Faultf("the agent has no ledger number %d", i)
	}
	l, ok := a.Store(of[i]).Handle().Object.(*memstore.Ledger)
	if !ok {
		panic(value.Faultf("the knowledge of an agent is no ledger"))
	}
	if l.Place != nil {
		return a.Ask(&effect.LedgerFind{Store: l.Place.Request(), By: "text", Texts: []string{a.String(2)}}, knownEntries)
	}
	a.Step(l.Len()>>3 + len(a.String(2))>>3)
	var text strings.Builder
	for i, e := range l.FromText(a.String(2)) {
		addKnown(&text, i, e.Identifier, e.Value)
	}
	return value.String(text.String()), nil
}

func knownEntries(r effect.Result) (value.Slot, error) {
	var text strings.Builder
	for i, e := range r.(*effect.LedgerEntries).Entries {
		addKnown(&text, i, e.Identifier, e.Value)
	}
	return value.String(text.String()), nil
}

// addKnown adds entry i, unless there are enough.
func addKnown(text *strings.Builder, i int, identifier, val string) {
	if i >= mostKnown {
		return
	}
	if i > 0 {
		text.WriteString("\n\n")
	}
	text.WriteString(identifier + ": " + val)
}
