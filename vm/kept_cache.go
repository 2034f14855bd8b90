package vm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/schema"
	"github.com/concerto-lang/concerto/internal/value"
)

// What `@cache` keeps in a file. An entry's key is a hash, so that nothing of a
// call can be read from it; its value is `[until, value]`, with the date until
// which it holds in as many digits as every other.

// lastDate is the latest date that an entry holds until, in milliseconds.
const lastDate = 9_999_999_999_999

// keptCache is the cache of what is decorated in a file.
type keptCache struct{ file, name string }

func (c keptCache) store() effect.Store {
	return effect.Store{File: c.file, Kind: "cache", Name: c.name}
}

// keptKey is the key of a call: a hash of its text, and of the type of what is
// kept.
func keptKey(text string, t *value.Type) json.RawMessage {
	sum := sha256.Sum256(append([]byte(text+"\x00"), schema.Text(t)...))
	return json.RawMessage(`"` + hex.EncodeToString(sum[:]) + `"`)
}

// okOf is the type of the values that are kept of a type: of a Result the good
// ones.
func okOf(t *value.Type) (ok *value.Type, isResult bool) {
	if t.Kind == value.TypeResult && len(t.Args) > 0 {
		return t.Args[0], true
	}
	return t, false
}

// keptCacheNatives are those of `@cache(…, persist: …)`. Their first arguments
// are file, name and key.
func (m *VM) keptCacheNatives(name string) Native {
	switch name {
	case "cache.read": // (…, date, type) gives (value, nil), or nil
		return func(a *Args) (value.Slot, error) {
			c, date := keptCache{a.String(0), a.String(1)}, a.Int(3)
			t, isResult := okOf(a.Type(4))
			q := &effect.StoreRead{Store: c.store(), Keys: []json.RawMessage{keptKey(a.String(2), t)}}
			return value.Nil, &Asks{q, func(r effect.Result) (value.Slot, error) {
				v, ok := unexpired(r.(*effect.StoreEntries).Entries[0].Value, date, t)
				if !ok {
					return value.Nil, nil
				}
				if isResult {
					v = value.Ok(v)
				}
				return value.Tuple(v, value.Nil), nil
			}}
		}
	case "cache.write": // (…, value, until, type)
		return func(a *Args) (value.Slot, error) {
			c, v, until := keptCache{a.String(0), a.String(1)}, value.Flat(a.Slot(3)), min(a.Int(4), lastDate)
			t, isResult := okOf(a.Type(5))
			if isResult {
				v = value.Flat(v.Fields()[0])
			}
			if whole, ok := value.FieldByName(v, "response"); ok && t.Name == "Response" && value.TypeName(v) != t.Name {
				v = whole // of a typed call, whose value is read from it again
			}
			text, err := schema.Keep(v, t)
			if err != nil {
				panic(value.Faultf("@cache of %s: its result cannot be kept in %s: %s", c.name, c.file, err))
			}
			entry := effect.StoreEntry{Key: keptKey(a.String(2), t), Value: fmt.Appendf(nil, "[%013d,%s]", until, text)}
			return value.Nil, &Asks{&effect.StoreWrite{Store: c.store(), Entries: []effect.StoreEntry{entry}}, nothing}
		}
	case "cache.sweep": // (file, name, date): once a run
		return func(a *Args) (value.Slot, error) {
			c := keptCache{a.String(0), a.String(1)}
			if m.cache.swept[c] {
				return value.Nil, nil
			}
			if m.cache.swept == nil {
				m.cache.swept = map[keptCache]bool{}
			}
			m.cache.swept[c] = true
			return value.Nil, &Asks{&effect.StoreExpire{Store: c.store(), Date: a.Int(2)}, nothing}
		}
	}
	return nil
}

// unexpired reads an entry. One that is no value of the type is as if it were
// not there: the program has changed.
func unexpired(entry json.RawMessage, date int64, t *value.Type) (value.Slot, bool) {
	var parts []json.RawMessage
	var until int64
	if entry == nil || json.Unmarshal(entry, &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[0], &until) != nil {
		return value.Nil, false
	}
	if date >= until && until < lastDate {
		return value.Nil, false
	}
	v, errs := schema.Kept(parts[1], t)
	return v, len(errs) == 0
}
