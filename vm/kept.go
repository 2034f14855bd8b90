package vm

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/schema"
	"github.com/concerto-lang/concerto/internal/store"
	"github.com/concerto-lang/concerto/internal/value"
)

// Asks is what a native gives as its error when its answer is an effect's. The
// VM performs Request and makes Value of its result the native's value. The
// arguments are not there any more then.
type Asks struct {
	Request effect.Request
	Value   func(effect.Result) (value.Slot, error)
}

func (a *Asks) Error() string { return "the answer is an effect's: " + string(a.Request.Kind()) }

// ask performs what an operation on a store in a file asks for. The task goes on
// at once, unless another process holds the file.
func (t *task) ask(r effect.Request, w *wait) status {
	t.m.stats.Requests++
	if t.alone() {
		w.result, w.err = t.performWaiting(r)
		return t.complete(w)
	}
	w.result, w.err = t.perform(t.m.atOnce, r)
	if !errors.Is(w.err, effect.ErrWaits) {
		return t.complete(w)
	}
	t.m.stats.Requests-- // start makes it again
	w.result, w.err = nil, nil
	w.request = r
	f := &pendingRequest{t: t, wait: w}
	t.m.start(r, f)
	w.end = f.end
	return t.park(w)
}

// StoreOf says which store a place is, for requests.
func StoreOf(p *store.Place) effect.Store {
	return effect.Store{File: p.File, Kind: p.Kind, Name: p.Name, Scope: p.Scope}
}

// A KeptMap reads and writes the entries of a hashmap in a file. Name is what
// errors call it.
type KeptMap struct {
	*store.Place
	Name string
}

// Key writes a key.
func (m KeptMap) Key(k value.Slot) ([]byte, error) {
	raw, err := schema.Keep(k, m.Place.Key)
	if err != nil {
		return nil, m.failed(k, "cannot be stored: %s", err)
	}
	return raw, nil
}

// Value writes the value of a key.
func (m KeptMap) Value(k, v value.Slot) ([]byte, error) {
	raw, err := schema.Keep(v, m.Place.Value)
	if err != nil {
		return nil, m.failed(k, "cannot be stored: %s", err)
	}
	return raw, nil
}

// ReadValue reads the value of a key; ok is false when raw is nil.
func (m KeptMap) ReadValue(k value.Slot, raw []byte) (v value.Slot, ok bool, err error) {
	if raw == nil {
		return value.Nil, false, nil
	}
	v, errs := schema.Kept(raw, m.Place.Value)
	if len(errs) > 0 {
		return value.Nil, false, m.failed(k, "in %s is no %s: %s", m.File, m.Place.Value, schema.Join(errs))
	}
	return v, true, nil
}

// ReadKey reads a key.
func (m KeptMap) ReadKey(raw []byte) (value.Slot, error) {
	k, errs := schema.Kept(raw, m.Place.Key)
	if len(errs) > 0 {
		return value.Nil, m.failed(value.String(string(raw)), "in %s has a key that is no %s: %s", m.File, m.Place.Key, schema.Join(errs))
	}
	return k, nil
}

// ReadMap reads entries as a map.
func (m KeptMap) ReadMap(r effect.Result) (*value.Map, error) {
	entries := r.(*effect.StoreEntries).Entries
	out := value.NewMap(len(entries))
	for _, e := range entries {
		k, err := m.ReadKey(e.Key)
		if err != nil {
			return nil, err
		}
		v, _, err := m.ReadValue(k, e.Value)
		if err != nil {
			return nil, err
		}
		out.Set(k, v)
	}
	return out, nil
}

// failed is the HashMapError of a key.
func (m KeptMap) failed(k value.Slot, format string, args ...any) error {
	err := value.Errorf("HashMapError", "%s[%s] "+format, append([]any{m.Name, value.AppendJSON(nil, k)}, args...)...)
	return err.With("key", value.String(value.Text(k)))
}
