package tape

import (
	"container/heap"
	"context"
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// Player returns the results on a tape to the VM. It is a vm.Durable and its vm.Past.
type Player struct {
	vm.NotDurable
	vm.OnlyPast
	// Show outputs an awaited emit.
	Show func(context.Context, *effect.Emit) error
	// Clean replaces secrets in JSON; nil leaves it unchanged. The requests on the tape must have
	// their secrets replaced already.
	Clean func(text []byte) []byte

	tape   *Tape
	policy *policy // set if a changed program is replayed to compare its decisions
	before int64   // subtracted from effect numbers in error messages
	used   []bool
	took   []int64 // for each entry, the number of the effect that has used it
	of     []int64 // for each entry, the effect that opened its object; 0 if the tape does not contain it

	byEffect  map[int64][]int     // indexes of entries by effect number
	byRequest map[key][]int       // indexes of entries in order
	moments   map[vm.Moment][]int // indexes of the entries with events in the middle of a turn
	overs     []int               // indexes of the entries with ends of the run's context during a wait

	begun  map[int]int64       // effect number by index of the entry, for running effects
	queue  indices             // indexes of the entries of running effects, and of some that have ended
	opened map[objectKey]int64 // recorded number of the opening effect, by the number in this run
}

// key identifies equal requests.
type key struct {
	kind    effect.Kind
	of      int64 // recorded number of the effect that opened the object; 0 if the tape does not contain it
	request string
}

// Play returns a Player at the start of a tape.
func Play(t *Tape) *Player {
	p := &Player{tape: t, used: make([]bool, len(t.Entries)), took: make([]int64, len(t.Entries)), of: make([]int64, len(t.Entries)),
		byEffect: map[int64][]int{}, byRequest: map[key][]int{}, moments: map[vm.Moment][]int{}, begun: map[int]int64{}, opened: map[objectKey]int64{}}
	numbered := map[int64]bool{0: true}
	for i := range t.Entries {
		numbered[t.Entries[i].E] = true
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		p.of[i] = e.Of
		if !numbered[e.Of] { // the opening entry has no number, so the position on the tape decides
			p.of[i] = 0
		}
		at, inside := e.at()
		switch {
		case e.Place == PlaceWaits: // the entry is found only by its request
			inside = false
		case e.Place == PlaceOver && !inside:
			p.overs = append(p.overs, i)
		}
		if inside {
			p.moments[at] = append(p.moments[at], i)
		}
		if e.Q != "" {
			p.byEffect[e.E] = append(p.byEffect[e.E], i)
			k := key{e.Q, p.of[i], canonical(e.R)}
			p.byRequest[k] = append(p.byRequest[k], i)
		}
	}
	return p
}

// Result returns the recorded result of an effect that does not wait.
func (p *Player) Result(e int64, r effect.Request) (result effect.Result, known bool, err error) {
	if !Recorded(r.Kind()) {
		return nil, false, nil
	}
	if p.policy != nil {
		return p.policyResult(e, r)
	}
	i, err := p.find(e, r)
	if err != nil {
		return nil, true, err
	}
	return p.resultOf(i, e)
}

// resultOf returns the result in entry i, which effect e uses.
func (p *Player) resultOf(i int, e int64) (result effect.Result, known bool, err error) {
	p.useEntry(i, e)
	x := &p.tape.Entries[i]
	if x.Place == PlaceWaits {
		return nil, true, effect.ErrWaits
	}
	result, failed, err := p.outcome(i, e)
	if err != nil {
		return nil, true, err
	}
	if failed != nil && !isProgram(failed) {
		if over, ended := p.endBefore(i); ended {
			return nil, true, &vm.EndedBy{Cause: over}
		}
	}
	return result, true, failed
}

// Find returns whether the tape contains the result of an effect for which the program waits.
func (p *Player) Find(e int64, r effect.Request) (vm.PastResult, error) {
	if !Recorded(r.Kind()) {
		return vm.Unrecorded, nil
	}
	if a, ok := r.(*effect.AwaitEmit); ok && a.Misfit == "" && p.Show != nil {
		if err := p.Show(context.Background(), &effect.Emit{Channel: a.Channel, Payload: a.Payload, From: a.From}); err != nil {
			return vm.Unrecorded, err
		}
	}
	if p.policy != nil {
		return p.policyFind(e, r)
	}
	i, err := p.find(e, r)
	if err != nil {
		return vm.Unrecorded, err
	}
	p.begin(i, e)
	return vm.Recorded, nil
}

// begin begins effect e, whose result is in entry i.
func (p *Player) begin(i int, e int64) {
	p.useEntry(i, e)
	p.begun[i] = e
	heap.Push(&p.queue, i)
}

// Past implements vm.Durable.
func (p *Player) Past() vm.Past { return p }

// NextEvent returns the next event on the tape. The VM calls it when no task can continue.
func (p *Player) NextEvent() (x vm.Event, ok bool) {
	for len(p.queue) > 0 {
		i := p.queue[0]
		e, under := p.begun[i]
		if !under {
			heap.Pop(&p.queue)
			continue
		}
		if cause, over := p.endBefore(i); over {
			return vm.Event{Err: cause}, true
		}
		heap.Pop(&p.queue)
		delete(p.begun, i)
		return p.event(i, e), true
	}
	return vm.Event{}, false
}

// EventAt returns the event that was recorded at a moment in the middle of a turn.
func (p *Player) EventAt(at vm.Moment) (x vm.Event, ok bool) {
	for _, i := range p.moments[at] {
		if p.tape.Entries[i].Place == PlaceOver && !p.used[i] {
			p.useEntry(i, 0)
			return vm.Event{Err: p.cause(i)}, true
		}
		if e, under := p.begun[i]; under && (p.policy == nil || p.isNext(i)) {
			delete(p.begun, i)
			return p.event(i, e), true
		}
	}
	return vm.Event{}, false
}

// ExceededMemory reports whether the recorded run exceeded its memory limit at this moment.
func (p *Player) ExceededMemory(at vm.Moment) bool {
	for _, i := range p.moments[at] {
		if p.tape.Entries[i].Place == PlaceMemory {
			p.useEntry(i, 0)
			return true
		}
	}
	return false
}

// event returns the event with the result in entry i, for effect e. Read has validated the entry.
func (p *Player) event(i int, e int64) vm.Event {
	result, failed, err := p.outcome(i, e)
	if err != nil {
		failed = err
	}
	return vm.Event{E: e, Result: result, Err: failed}
}

// outcome returns the result or the error in entry i, for effect e.
func (p *Player) outcome(i int, e int64) (effect.Result, error, error) {
	x := &p.tape.Entries[i]
	result, failed, err := x.Outcome(e)
	if n, ok := result.(effect.Numbered); ok && err == nil {
		p.opened[objectKey{x.Q.Family(), *n.Number()}] = x.E
	}
	return result, failed, err
}

// endBefore returns the cause of the end of the run's context, if that is recorded before entry i
// and was not returned so far.
func (p *Player) endBefore(i int) (cause error, ok bool) {
	if len(p.overs) == 0 || p.overs[0] > i {
		return nil, false
	}
	at := p.overs[0]
	p.overs = p.overs[1:]
	p.useEntry(at, 0)
	return p.cause(at), true
}

func (p *Player) cause(i int) error {
	if f := p.tape.Entries[i].Err; f != nil {
		return f.Cause()
	}
	return context.Canceled
}

func (p *Player) useEntry(i int, e int64) {
	p.used[i], p.took[i] = true, e
	if p.policy != nil && e != 0 {
		p.policy.uses[e] = i
	}
}

// find returns the index of the entry for a request. It is the unused entry with the same number
// and request, or the first unused entry with the same request.
func (p *Player) find(e int64, r effect.Request) (int, error) {
	text, err := p.text(r)
	if err != nil {
		return 0, err
	}
	k := p.keyOf(r, text)
	if i := p.equal(e, k); i >= 0 {
		return i, nil
	}
	return 0, p.missingError(e, k, text)
}

// text returns a request as canonical JSON without secrets.
func (p *Player) text(r effect.Request) (json.RawMessage, error) {
	text, err := Request(r)
	if err == nil && p.Clean != nil {
		text = p.Clean(text)
	}
	return text, err
}

// keyOf returns the key of a request with this text.
func (p *Player) keyOf(r effect.Request, text []byte) key {
	k := key{kind: r.Kind(), request: canonical(text)}
	if n, ok := r.(effect.Numbered); ok {
		k.of = p.opened[objectKey{k.kind.Family(), *n.Number()}]
	}
	return k
}

// equal returns the index of the unused entry for a key, or -1.
func (p *Player) equal(e int64, k key) int {
	for _, i := range p.byEffect[e] {
		x := &p.tape.Entries[i]
		if e != 0 && !p.used[i] && (key{x.Q, p.of[i], canonical(x.R)}) == k {
			return i
		}
	}
	first := -1
	for _, of := range slices.Compact([]int64{k.of, 0}) {
		if i := p.next(key{k.kind, of, k.request}); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

// next returns the index of the first unused entry with a key, or -1.
func (p *Player) next(k key) int {
	all := p.byRequest[k]
	for len(all) > 0 && p.used[all[0]] {
		all = all[1:]
	}
	p.byRequest[k] = all
	if len(all) == 0 {
		return -1
	}
	return all[0]
}

// Unused returns the kinds of the effects that the program has not performed, and their number.
func (p *Player) Unused() (kinds []string, n int) {
	for i := range p.tape.Entries {
		if e := &p.tape.Entries[i]; e.Q != "" && !p.used[i] {
			n++
			kinds = append(kinds, string(e.Q))
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), n
}

// indices is a heap of indexes, smallest first. It implements heap.Interface.
type indices []int

func (x indices) Len() int           { return len(x) }
func (x indices) Less(i, j int) bool { return x[i] < x[j] }
func (x indices) Swap(i, j int)      { x[i], x[j] = x[j], x[i] }

// Push appends an index.
func (x *indices) Push(v any) { *x = append(*x, v.(int)) }

// Pop removes and returns the last index.
func (x *indices) Pop() any {
	all := *x
	last := all[len(all)-1]
	*x = all[:len(all)-1]
	return last
}
