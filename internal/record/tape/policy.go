package tape

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"errors"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/vm"
)

// policy contains what a Player needs to replay a changed program to compare its decisions
// (spec/49-eval.md). Hosts send what they sent in the recorded run, whatever the program answers:
// exchanges are matched by host and order, and answers by the id of the request. Effects whose
// result does not depend on the recorded run need no entry.
type policy struct {
	normalize func(text []byte) []byte // nil: only equal requests match
	normal    map[key][]int            // indexes of entries by normalized request; nil until it is needed

	uses  map[int64]int       // index of the entry that each effect has used
	opens map[string][]int    // for each host, the indexes of the entries that open an exchange
	of    map[int64]*exchange // exchanges by the number in this run
	all   []*exchange         // the exchange of each entry; nil for none

	cutOff bool         // a request has no entry because the tape was cut off
	clock  *effect.Time // last recorded time that the program has read
	extra  int          // number of effects without an entry
	now    int64        // time in milliseconds that timers without an entry have taken
	timers []timer      // running effects without a recorded result
}

// exchange contains the unused entries of an exchange, by kind.
type exchange struct {
	open    int // index of the entry that opens it
	entries map[effect.Kind][]int
}

// timer is an effect that ends when nothing else in the run can continue: a timer without an entry,
// or an effect that was cancelled in the recorded run.
type timer struct {
	e      int64
	at     int64 // time at which a timer ends, in milliseconds
	result effect.Result
	err    error // error of an effect whose result is unknown; nil for a timer
}

// maxExtra limits the number of effects without an entry, so that a program that waits for a time
// which the tape does not reach ends.
const maxExtra = 100_000

// ComparePolicy makes the Player replay a changed program to compare its decisions. normalize, if
// not nil, returns the form in which a request may match an entry that is not equal. It must be
// called before the replay begins.
func (p *Player) ComparePolicy(normalize func(request []byte) []byte) {
	x := &policy{normalize: normalize, uses: map[int64]int{}, opens: map[string][]int{}, of: map[int64]*exchange{}, all: make([]*exchange, len(p.tape.Entries))}
	p.policy = x
	numbered := map[int64]*exchange{}
	hasNumbers := true // of all entries that open exchanges
	var last *exchange
	for i := range p.tape.Entries {
		e := &p.tape.Entries[i]
		switch {
		case e.Q == effect.KindExchangeOpen && e.Place == "":
			var q effect.ExchangeOpen
			_ = json.Unmarshal(e.R, &q) // an invalid request belongs to no host
			last = &exchange{i, map[effect.Kind][]int{}}
			x.opens[q.Host], x.all[i] = append(x.opens[q.Host], i), last
			if hasNumbers = hasNumbers && e.E != 0; e.E != 0 {
				numbered[e.E] = last
			}
		case e.Q.Family() == effect.KindExchangeOpen.Family() && e.Place == "":
			owner := numbered[e.Of]
			if owner == nil {
				owner = last // the numbers were left out, so the position on the tape decides
			}
			if owner != nil {
				owner.entries[e.Q] = append(owner.entries[e.Q], i)
				x.all[i] = owner
			}
		}
	}
	if hasNumbers { // exchanges of concurrent tasks may open in another order than they are requested
		for _, opens := range x.opens {
			slices.SortFunc(opens, func(i, j int) int { return cmp.Compare(p.tape.Entries[i].E, p.tape.Entries[j].E) })
		}
	}
}

// policyResult is Result for the comparison of decisions.
func (p *Player) policyResult(e int64, r effect.Request) (result effect.Result, known bool, err error) {
	i, err := p.match(e, r)
	switch {
	case err != nil:
		p.policy.cutOff = p.policy.cutOff || p.isCutOff(r)
		return nil, true, err
	case i < 0:
		return p.derived(r), true, nil
	}
	return p.resultOf(i, e)
}

// policyFind is Find for the comparison of decisions.
func (p *Player) policyFind(e int64, r effect.Request) (vm.PastResult, error) {
	x := p.policy
	i, err := p.match(e, r)
	var missing *DivergedError
	switch {
	case errors.As(err, &missing) && p.isCutOff(r):
		x.cutOff = true
		x.timers = append(x.timers, timer{e: e, err: err}) // other tasks may continue
		return vm.UnderWay, nil
	case err != nil:
		return vm.Unrecorded, err
	case i < 0 || p.wasCancelled(i):
		k := timer{e: e}
		if s, ok := r.(*effect.Sleep); ok {
			k.at = x.now + s.Milliseconds
		} else if i >= 0 {
			text, terr := p.text(r)
			if terr != nil {
				return vm.Unrecorded, terr
			}
			k.err = p.missingError(e, p.keyOf(r, text), text)
		}
		if i >= 0 {
			p.useEntry(i, e)
		} else {
			k.result = p.derived(r)
		}
		x.timers = append(x.timers, k)
		return vm.UnderWay, nil
	}
	p.begin(i, e)
	return vm.Recorded, nil
}

// wasCancelled reports whether the recorded run has cancelled the effect of entry i, so that its
// result is unknown.
func (p *Player) wasCancelled(i int) bool {
	f := p.tape.Entries[i].Err
	return f != nil && f.Kind == cancelled
}

// NextIdle returns the end of the effect without a recorded result that ends first. It implements
// vm.IdlePast.
func (p *Player) NextIdle() (vm.Event, bool) {
	x := p.policy
	if x == nil || len(x.timers) == 0 {
		return vm.Event{}, false
	}
	if len(p.overs) > 0 {
		cause, _ := p.endBefore(p.overs[0])
		return vm.Event{Err: cause}, true
	}
	first := 0
	for i, t := range x.timers {
		if f := x.timers[first]; (t.err == nil) != (f.err == nil) && t.err == nil || (t.err == nil) == (f.err == nil) && t.at < f.at {
			first = i
		}
	}
	t := x.timers[first]
	x.timers = slices.Delete(x.timers, first, first+1)
	x.now = max(x.now, t.at)
	return vm.Event{E: t.e, Result: t.result, Err: t.err}, true
}

// isNext reports whether no running effect has an entry before i.
func (p *Player) isNext(i int) bool {
	for len(p.queue) > 0 {
		if _, under := p.begun[p.queue[0]]; under {
			return p.queue[0] >= i
		}
		heap.Pop(&p.queue)
	}
	return true
}

// match returns the index of the entry for a request, or -1 if the request needs none.
func (p *Player) match(e int64, r effect.Request) (int, error) {
	text, err := p.text(r)
	if err != nil {
		return 0, err
	}
	k := p.keyOf(r, text)
	i, known := p.matchExchange(r, e)
	if !known {
		if i = p.equal(e, k); i < 0 {
			i = p.similar(k)
		}
	}
	switch r.(type) {
	case *effect.Clock:
		if i >= 0 {
			p.noteTime(i)
		}
		known = p.policy.clock != nil
	case *effect.Sleep:
		known = true
	case *effect.ExchangeOpen, *effect.ExchangeNext:
		known = false // without an entry the host's messages are unknown
	}
	if i < 0 && known {
		p.policy.extra++
		known = p.policy.extra <= maxExtra
	}
	if i < 0 && !known {
		return 0, p.missingError(e, k, text)
	}
	return i, nil
}

// matchExchange returns the index of the entry for a request about an exchange, or -1. known is
// false for other requests.
func (p *Player) matchExchange(r effect.Request, e int64) (i int, known bool) {
	x := p.policy
	var number int64
	fits := func(*Entry) bool { return true }
	switch q := r.(type) {
	case *effect.ExchangeOpen:
		all := x.opens[q.Host]
		if len(all) == 0 {
			return -1, true
		}
		x.opens[q.Host] = all[1:]
		x.of[e] = x.all[all[0]]
		return all[0], true
	case *effect.ExchangeNext:
		number = q.ID
	case *effect.ExchangeReply:
		number = q.ID
		fits = func(e *Entry) bool {
			var was effect.ExchangeReply
			return json.Unmarshal(e.R, &was) == nil && was.AnswerTo == q.AnswerTo && (q.AnswerTo != "" || was.InReplyTo == q.InReplyTo)
		}
	case *effect.ExchangeSteer:
		number = q.ID
	case *effect.ExchangeContinue:
		number = q.ID
	case *effect.ExchangeGate:
		number = q.ID
	case *effect.ExchangeClose:
		number = q.ID
	default:
		return -1, false
	}
	of := x.of[number]
	if of == nil {
		return -1, true
	}
	all := of.entries[r.Kind()]
	for n, i := range all {
		if fits(&p.tape.Entries[i]) {
			of.entries[r.Kind()] = slices.Concat(all[:n], all[n+1:])
			return i, true
		}
	}
	return -1, true
}

// similar returns the index of the first unused entry whose normalized request is equal, or -1.
func (p *Player) similar(k key) int {
	x := p.policy
	if x.normalize == nil {
		return -1
	}
	if x.normal == nil {
		x.normal = map[key][]int{}
		for i := range p.tape.Entries {
			if e := &p.tape.Entries[i]; e.Q != "" && e.Place == "" && x.all[i] == nil {
				n := key{e.Q, p.of[i], canonical(x.normalize(e.R))}
				x.normal[n] = append(x.normal[n], i)
			}
		}
	}
	k.request = canonical(x.normalize([]byte(cmp.Or(k.request, "{}"))))
	for _, of := range slices.Compact([]int64{k.of, 0}) {
		n := key{k.kind, of, k.request}
		all := x.normal[n]
		for len(all) > 0 && p.used[all[0]] {
			all = all[1:]
		}
		if x.normal[n] = all; len(all) > 0 {
			return all[0]
		}
	}
	return -1
}

// noteTime sets the last recorded time that the program has read.
func (p *Player) noteTime(i int) {
	if result, _, err := p.tape.Entries[i].Outcome(0); err == nil {
		p.policy.clock, _ = result.(*effect.Time)
	}
}

// derived returns the result of an effect that needs no entry.
func (p *Player) derived(r effect.Request) effect.Result {
	switch r.(type) {
	case *effect.Clock:
		now := *p.policy.clock
		return &now
	case *effect.ExchangeSteer:
		return &effect.ExchangeSteered{Outcome: effect.SteerReceived}
	case *effect.ExchangeContinue:
		return &effect.ExchangeSteered{Outcome: effect.SteerQueued}
	}
	return nil
}

// EntryOf returns the index of the entry that effect e has used, or -1 if there is none.
func (p *Player) EntryOf(e int64) int {
	if i, used := p.policy.uses[e]; used {
		return i
	}
	return -1
}

// ExchangeOf returns the index of the entry that opens the exchange with a number in this run, or
// -1.
func (p *Player) ExchangeOf(number int64) int {
	if x := p.policy.of[number]; x != nil {
		return x.open
	}
	return -1
}

// Owners returns for each entry the index of the entry that opens its exchange, or -1 for none.
func (p *Player) Owners() []int {
	out := make([]int, len(p.policy.all))
	for i, x := range p.policy.all {
		out[i] = -1
		if x != nil {
			out[i] = x.open
		}
	}
	return out
}

// UnusedEntries returns the indexes of the entries of effects that the program has not performed.
func (p *Player) UnusedEntries() (all []int) {
	for i := range p.tape.Entries {
		if x := &p.tape.Entries[i]; x.Q != "" && x.Place == "" && !p.used[i] {
			all = append(all, i)
		}
	}
	return all
}

// IsSame reports whether two texts of JSON are equal, or if requests are normalized, equal after
// that.
func (p *Player) IsSame(a, b json.RawMessage) bool {
	form := func(text []byte) string {
		if p.policy.normalize != nil {
			text = p.policy.normalize(text)
		}
		return canonical(text)
	}
	return form(a) == form(b)
}

// CutOff reports whether the replay ended because the tape was cut off.
func (p *Player) CutOff() bool { return p.policy.cutOff }

// isCutOff reports whether a request has no entry because the tape was cut off: the request is for
// the next messages of a host, or the program has used the last entry.
func (p *Player) isCutOff(r effect.Request) bool {
	return p.tape.Ended == nil && (r.Kind() == effect.KindExchangeNext || len(p.used) == 0 || p.used[len(p.used)-1])
}

// Prompt is what a host receives at the start of an exchange.
type Prompt struct {
	Prompt    string            `json:"prompt"`
	Context   json.RawMessage   `json:"context,omitempty"`
	Schema    json.RawMessage   `json:"schema,omitempty"`
	Session   string            `json:"session,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	Tools     []effect.ToolSpec `json:"tools,omitempty"`
}

// PromptOf returns what a host receives at the start of an exchange as JSON: a text if it is only a
// prompt, otherwise a Prompt.
func PromptOf(q *effect.ExchangeOpen) json.RawMessage {
	return (&Prompt{q.Prompt, q.Context, q.Schema, q.Session, q.Workspace, q.Tools}).JSON()
}

// JSON returns a text if the prompt has no other members.
func (x *Prompt) JSON() json.RawMessage {
	var what any = x
	if len(x.Context)+len(x.Schema)+len(x.Session)+len(x.Workspace)+len(x.Tools) == 0 {
		what = x.Prompt
	}
	text, err := jsonwrite.Encode(what)
	if err != nil {
		text, _ = json.Marshal(x.Prompt) // another member is not valid JSON
	}
	return text
}

// UnmarshalJSON reads what JSON has written.
func (x *Prompt) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &x.Prompt)
	}
	type members Prompt
	return json.Unmarshal(text, (*members)(x))
}
