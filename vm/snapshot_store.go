package vm

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Encoding of the state of a run outside of its tasks: stores, tools, and natives.

// NativeState is state that a native stores by StateOf or in a handle, and that a snapshot can
// contain.
type NativeState interface {
	// StateName returns the name for which Config.NewNativeState creates an empty state.
	StateName() string
	// EncodeState encodes or decodes the state.
	EncodeState(*StateCodec)
}

// storePath is the declaration of a store and the path of scopes within it.
type storePath struct {
	index int
	names []string
}

// findStores records the paths of all stores.
func (k *StateCodec) findStores() {
	k.stores = map[unsafe.Pointer]storePath{}
	for i, s := range k.m.declared.stores {
		switch x := s.Handle().Object.(type) {
		case *memstore.HashMap:
			k.findHashMap(x, storePath{index: i})
		case *memstore.Ledger:
			k.findLedger(x, storePath{index: i})
		}
	}
}

func (k *StateCodec) findHashMap(h *memstore.HashMap, at storePath) {
	k.stores[unsafe.Pointer(h)] = at
	for _, name := range h.Scopes() {
		k.findHashMap(h.Scope(name), storePath{at.index, append(slices.Clip(at.names), name)})
	}
}

func (k *StateCodec) findLedger(l *memstore.Ledger, at storePath) {
	k.stores[unsafe.Pointer(l)] = at
	for _, name := range l.Scopes() {
		k.findLedger(l.Scope(name), storePath{at.index, append(slices.Clip(at.names), name)})
	}
}

// storeHead finds a store of the program, or creates a scope of a store.
func (k *StateCodec) storeHead(kind entityKind, p unsafe.Pointer) unsafe.Pointer {
	at, found := k.stores[p]
	if !k.reading && !found {
		k.refuse("a value is a store that the program does not declare")
	}
	below(k, &at.index, len(k.m.declared.stores), "a store is declared nowhere")
	list(k, &at.names, k.Text)
	if !k.reading || k.err != nil {
		return p
	}
	object := k.m.declared.stores[at.index].Handle().Object
	if h, ok := object.(*memstore.HashMap); ok && kind == entityHashMap {
		for _, name := range at.names {
			h = h.Scope(name)
		}
		return unsafe.Pointer(h)
	}
	l, ok := object.(*memstore.Ledger)
	if !k.require(ok && kind == entityLedger, "a store is of another kind") {
		return nil
	}
	for _, name := range at.names {
		l = l.Scope(name)
	}
	return unsafe.Pointer(l)
}

// storesHold encodes or decodes the contents of all stores.
func (k *StateCodec) storesHold() {
	for _, s := range k.m.declared.stores {
		switch x := s.Handle().Object.(type) {
		case *memstore.HashMap:
			k.hashMap(x)
		case *memstore.Ledger:
			k.ledger(x)
		case *memstore.Memory:
			all := x.Messages()
			list(k, &all, func(m *memstore.Message) {
				k.Text(&m.Role)
				k.Text(&m.Content)
			})
			if k.reading {
				for _, m := range all {
					x.Append(m.Role, m.Content)
				}
			}
		case *memstore.Queue:
			encodeQueue(k, x)
		}
	}
}

// encodeQueue encodes or decodes the items of a queue in memory.
func encodeQueue(k *StateCodec, q *memstore.Queue) {
	all, number := q.Content()
	k.Int(&number)
	list(k, &all, func(p **memstore.QueueRow) {
		var text string
		if !k.reading {
			b, err := json.Marshal(*p)
			if err != nil {
				k.refuse("a queue has an item that is no JSON")
			}
			text = string(b)
		}
		if k.Text(&text); k.reading && k.err == nil {
			*p = new(memstore.QueueRow)
			if err := json.Unmarshal([]byte(text), *p); err != nil {
				k.damaged("an item of a queue: %v", err)
			}
		}
	})
	if k.reading && k.err == nil {
		q.SetContent(all, number)
	}
}

func (k *StateCodec) hashMap(h *memstore.HashMap) {
	p := h.Parts()
	k.Slot(&p.Data)
	k.Slot(&p.Watchers)
	k.Slot(&p.Any)
	if k.reading {
		if !k.require(p.Data.Map() != nil && p.Watchers.Map() != nil && p.Any.Array() != nil, "a hashmap has no entries") {
			return
		}
		k.later = append(k.later, func() {
			p.Watchers.Map().Each(func(_, v value.Slot) bool {
				return k.require(v.Array() != nil, "a hashmap's watchers are no functions")
			})
		})
		h.SetParts(p)
	}
	names := h.Scopes()
	list(k, &names, k.Text)
	for _, name := range names {
		k.hashMap(h.Scope(name))
	}
}

func (k *StateCodec) ledger(l *memstore.Ledger) {
	all := l.Entries()
	list(k, &all, func(p **memstore.Entry) {
		if k.reading {
			*p = new(memstore.Entry)
		}
		k.Text(&(*p).Identifier)
		keys := (*p).Keys
		list(k, &keys, k.Text)
		(*p).Keys = keys
		k.Text(&(*p).Value)
	})
	if k.reading {
		for _, e := range all {
			if err := l.Insert(e.Identifier, e.Keys, e.Value); err != nil {
				k.damaged("%v", err)
			}
		}
	}
	names := l.Scopes()
	list(k, &names, k.Text)
	for _, name := range names {
		k.ledger(l.Scope(name))
	}
}

// toolStates encodes or decodes the states of tools.
func (k *StateCodec) toolStates() {
	for _, x := range k.m.declared.tools {
		k.slots(x.self.Fields())
	}
}

// owned encodes or decodes the state of natives, in the order of the state names.
func (k *StateCodec) owned() {
	var all []NativeState
	if !k.reading {
		for _, x := range k.m.own {
			state, ok := x.(NativeState)
			if !ok {
				k.refuse("natives keep a %T", x)
				return
			}
			all = append(all, state)
		}
		slices.SortFunc(all, func(a, b NativeState) int { return cmp.Compare(a.StateName(), b.StateName()) })
	}
	list(k, &all, func(x *NativeState) {
		if k.nativeState(x); k.err == nil && k.reading {
			if k.m.own == nil {
				k.m.own = map[any]any{}
			}
			k.m.own[reflect.Zero(reflect.TypeOf(*x)).Interface()] = *x
		}
	})
}

// nativeState encodes or decodes the state of one native.
func (k *StateCodec) nativeState(x *NativeState) {
	name := ""
	if *x != nil {
		name = (*x).StateName()
	}
	k.Text(&name)
	if k.reading {
		*x = nil
		if k.m.config.NewNativeState != nil {
			*x = k.m.config.NewNativeState(name)
		}
		if !k.require(*x != nil, "the state of the library has an unknown kind") {
			return
		}
	}
	(*x).EncodeState(k)
}

// Tags for the object of a handle.
const (
	handleStream byte = iota
	handleAsk
	handleBound
	handleNative
	handleKinds
)

func (k *StateCodec) handleBody(h *value.Handle) {
	k.Text(&h.Type)
	k.Text(&h.Name)
	var kind byte
	var stream *hostStream
	var of *ask
	var limit bound
	var own NativeState
	switch x := h.Object.(type) {
	case nil:
		if !k.reading {
			k.refuse("a value is a %s of nothing", h.Type)
		}
	case *hostStream:
		kind, stream = handleStream, x
	case *ask:
		kind, of = handleAsk, x
	case bound:
		kind, limit = handleBound, x
	case NativeState:
		kind, own = handleNative, x
	default:
		k.refuse("a value is a %s", h.Type)
	}
	below(k, &kind, int(handleKinds), "a value refers to nothing known")
	switch kind {
	case handleStream:
		referRequired(k, entityStream, &stream, "a value is no stream")
		h.Object = stream
	case handleAsk:
		referRequired(k, entityAsk, &of, "a value is no message")
		h.Object = of
	case handleBound:
		k.Int(&limit.ms)
		refer(k, entityAsk, &limit.ask)
		h.Object = limit
	case handleNative:
		k.nativeState(&own)
		h.Object = own
	}
}
