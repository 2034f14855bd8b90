package memstore

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Request returns the store of the place in the form for requests.
func (p *Place) Request() effect.Store {
	return effect.Store{File: p.File, Kind: p.Kind, Name: p.Name, Scope: p.Scope}
}

// Count converts an *effect.StoreCount to an Int.
func Count(r effect.Result) (value.Slot, error) { return value.Int(r.(*effect.StoreCount).Count), nil }

// StoredEntries encodes and decodes the entries of a hashmap in a file, as JSON of its types. Pace
// can interrupt long work.
type StoredEntries struct {
	*Place
	Name string // name of the hashmap in errors
	pace *value.Pace
}

// StoredEntries returns the encoder of a hashmap whose Place is not nil.
func (h *HashMap) StoredEntries(pace *value.Pace) StoredEntries {
	return StoredEntries{h.Place, h.Name(), pace}
}

// EncodeKey encodes a key.
func (m StoredEntries) EncodeKey(k value.Slot) ([]byte, error) {
	raw, err := schema.EncodeStoredIn(m.pace, k, m.Place.Key)
	if err != nil {
		return nil, m.newError(k, "cannot be stored: %s", err)
	}
	return raw, nil
}

// EncodeValue encodes the value of a key.
func (m StoredEntries) EncodeValue(k, v value.Slot) ([]byte, error) {
	raw, err := schema.EncodeStoredIn(m.pace, v, m.Place.Value)
	if err != nil {
		return nil, m.newError(k, "cannot be stored: %s", err)
	}
	return raw, nil
}

// DecodeValue decodes the value of a key. ok is false if raw is nil.
func (m StoredEntries) DecodeValue(k value.Slot, raw []byte) (v value.Slot, ok bool, err error) {
	if raw == nil {
		return value.Nil, false, nil
	}
	v, errs := schema.DecodeStoredIn(m.pace, raw, m.Place.Value)
	if len(errs) > 0 {
		return value.Nil, false, m.newError(k, "in %s is no %s: %s", m.File, m.Place.Value, schema.Join(errs))
	}
	return v, true, nil
}

// DecodeKey decodes a key.
func (m StoredEntries) DecodeKey(raw []byte) (value.Slot, error) {
	k, errs := schema.DecodeStoredIn(m.pace, raw, m.Place.Key)
	if len(errs) > 0 {
		return value.Nil, m.newError(value.String(string(raw)), "in %s has a key that is no %s: %s", m.File, m.Place.Key, schema.Join(errs))
	}
	return k, nil
}

// DecodeMap decodes entries as a map.
func (m StoredEntries) DecodeMap(r effect.Result) (*value.Map, error) {
	entries := r.(*effect.StoreEntries).Entries
	out := value.NewMap(len(entries))
	for _, e := range entries {
		k, err := m.DecodeKey(e.Key)
		if err != nil {
			return nil, err
		}
		v, _, err := m.DecodeValue(k, e.Value)
		if err != nil {
			return nil, err
		}
		out.Set(k, v)
	}
	return out, nil
}

// newError returns a HashMapError about a key.
func (m StoredEntries) newError(k value.Slot, format string, args ...any) error {
	err := value.Errorf("HashMapError", "%s[%s] "+format, append([]any{m.Name, value.AppendJSON(nil, k)}, args...)...)
	return err.With("key", value.String(value.Text(k)))
}
