package stdlib

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// The results that `@cache` stores during the run. Expired results are removed each time the number
// of entries has doubled, so that the size of the cache is proportional to the number of valid
// results.

type cache struct {
	entries map[string]cached
	sweep   int // number of entries at which expired entries are removed
}

type cached struct {
	value value.Slot
	until int64 // expiry in milliseconds of the monotonic clock
}

const firstSweep = 256

func (c *cache) get(key string, now int64) (value.Slot, bool) {
	x, ok := c.entries[key]
	if ok && now >= x.until {
		delete(c.entries, key)
		ok = false
	}
	return x.value, ok
}

func (c *cache) put(key string, v value.Slot, now, ttl int64) {
	if c.entries == nil {
		c.entries, c.sweep = map[string]cached{}, firstSweep
	}
	if len(c.entries) >= c.sweep {
		for k, x := range c.entries {
			if now >= x.until {
				delete(c.entries, k)
			}
		}
		c.sweep = max(2*len(c.entries), firstSweep)
	}
	until := now + ttl
	if until < now { // the sum overflowed: the entry never expires
		until = 1<<63 - 1
	}
	c.entries[key] = cached{v, until}
}

// Natives of `@cache`. The arguments of cache.get are (key, now), those of cache.put are (key,
// value, now, ttl_ms).
var cacheNatives = native.Table{
	{"cache.key", cacheKey},
	{"cache.get", func(a *vm.Args) (value.Slot, error) {
		v, ok := vm.StateOf[cache](a).get(a.String(0), a.Int(1))
		if !ok {
			return value.Nil, nil
		}
		return value.Tuple(native.MarkShared(v), value.Nil), nil
	}},
	{"cache.put", func(a *vm.Args) (value.Slot, error) {
		vm.StateOf[cache](a).put(a.String(0), native.MarkShared(a.Slot(1)), a.Int(2), a.Int(3))
		return value.Nil, nil
	}},
	{"cache.read", cacheRead},
	{"cache.write", cacheWrite},
	{"cache.sweep", cacheSweep},
}

func cacheKey(a *vm.Args) (value.Slot, error) {
	k := keyer{of: a.String(0), pace: a.Pace()}
	return value.String(string(k.append(append(value.AppendString(nil, k.of), ' '), a.Slot(1)))), nil
}

// keyer writes the text of a key. Different values have different texts. The text of an agent or a
// host contains its declaration and the options that the program has set on it.
type keyer struct {
	of    string
	pace  *value.Pace
	depth int
}

// deepestKey is the maximum nesting depth of the arguments of a cached call.
const deepestKey = 10_000

func (k *keyer) append(dst []byte, s value.Slot) []byte {
	k.pace.Step(2)
	switch s.Kind() {
	case value.KindArray:
		a := s.Array()
		return k.list(append(dst, '['), a.Len, a.At)
	case value.KindMap:
		dst = append(dst, '{')
		s.Map().Each(func(key, v value.Slot) bool {
			dst = k.list(dst, 2, func(i int) value.Slot { return [2]value.Slot{key, v}[i] })
			return true
		})
		return append(dst, ']')
	case value.KindTuple, value.KindStruct, value.KindEnum, value.KindSome, value.KindRange:
		dst = fmt.Appendf(dst, "%s#%d(", value.TypeName(s), s.Variant())
		return k.fields(dst, s.Fields())
	case value.KindAgent, value.KindHost:
		return k.fields(append(value.AppendJSON(dst, s), '('), s.Fields()[1:])
	case value.KindFloat:
		return fmt.Append(dst, s.AsFloat()) // JSON cannot represent infinity and NaN
	case value.KindClosure, value.KindCell, value.KindHandle, value.KindTypeDesc:
		panic(value.Faultf("@cache of %s: its arguments contain %s, which cannot be part of a key", k.of, value.TypeName(s)))
	}
	return value.AppendJSONWithin(dst, s, &value.Bound{Pace: k.pace})
}

func (k *keyer) fields(dst []byte, fields []value.Slot) []byte {
	return k.list(dst, len(fields), func(i int) value.Slot { return fields[i] })
}

// list appends n values and the end of a list.
func (k *keyer) list(dst []byte, n int, at func(int) value.Slot) []byte {
	if k.depth++; k.depth > deepestKey {
		panic(value.Faultf("@cache of %s: its arguments are nested too deeply", k.of))
	}
	for i := range n {
		dst = append(k.append(dst, at(i)), ',')
	}
	k.depth--
	return append(dst, ']')
}

// The results that `@cache` stores in a file. The key of an entry is a hash, so that the file does
// not reveal the arguments of the call. The value of an entry is `[until, value]`, where until is
// the expiry date with a fixed number of digits.

// lastDate is the latest possible expiry date, in milliseconds.
const lastDate = 9_999_999_999_999

// fileCache identifies the results of a decorated function in a file.
type fileCache struct{ file, name string }

func (c fileCache) store() effect.Store {
	return effect.Store{File: c.file, Kind: "cache", Name: c.name}
}

// fileCacheKey returns the key of a call, which is a hash of the call's text and of the type of the
// stored value.
func fileCacheKey(text string, t *value.Type) json.RawMessage {
	return json.RawMessage(`"` + hexsum.SHA256(append([]byte(text+"\x00"), schema.Text(t)...)) + `"`)
}

// okOf returns the type of the stored values for a function with the result type t. For a Result
// only the Ok value is stored.
func okOf(t *value.Type) (ok *value.Type, isResult bool) {
	if t.Kind == value.TypeResult && len(t.Args) > 0 {
		return t.Args[0], true
	}
	return t, false
}

// Natives of `@cache(…, persist: …)`. Their first arguments are (file, name, key).

// cacheRead reads a stored result. It returns (value, nil), or nil if there is none. The further
// arguments are (date, type).
func cacheRead(a *vm.Args) (value.Slot, error) {
	c, date, pace := fileCache{a.String(0), a.String(1)}, a.Int(3), a.Pace()
	t, isResult := okOf(a.Type(4))
	q := &effect.StoreRead{Store: c.store(), Keys: []json.RawMessage{fileCacheKey(a.String(2), t)}}
	return a.Ask(q, func(r effect.Result) (value.Slot, error) {
		v, ok := readUnexpired(pace, r.(*effect.StoreEntries).Entries[0].Value, date, t)
		if !ok {
			return value.Nil, nil
		}
		if isResult {
			v = value.Ok(v)
		}
		return value.Tuple(v, value.Nil), nil
	})
}

// cacheWrite stores a result. The further arguments are (value, until, type).
func cacheWrite(a *vm.Args) (value.Slot, error) {
	c, v, until := fileCache{a.String(0), a.String(1)}, value.Flatten(a.Slot(3)), min(a.Int(4), lastDate)
	t, isResult := okOf(a.Type(5))
	if isResult {
		v = value.Flatten(v.Fields()[0])
	}
	if whole, ok := value.FieldByName(v, "response"); ok && t.Name == "Response" && value.TypeName(v) != t.Name {
		v = whole // the result of a call with a type: reading parses its value again from the response
	}
	text, err := schema.EncodeStoredIn(a.Pace(), v, t)
	if err != nil {
		panic(value.Faultf("@cache of %s: its result cannot be stored in %s: %s", c.name, c.file, err))
	}
	entry := effect.StoreEntry{Key: fileCacheKey(a.String(2), t), Value: fmt.Appendf(nil, "[%013d,%s]", until, text)}
	return a.Ask(&effect.StoreWrite{Store: c.store(), Entries: []effect.StoreEntry{entry}}, vm.Nothing)
}

// sweptCaches contains the caches in files from which the run has removed expired entries.
type sweptCaches map[fileCache]bool

// cacheSweep removes expired entries from a cache, once in a run. The arguments are (file, name,
// date).
func cacheSweep(a *vm.Args) (value.Slot, error) {
	c, done := fileCache{a.String(0), a.String(1)}, vm.StateOf[sweptCaches](a)
	if (*done)[c] {
		return value.Nil, nil
	}
	if *done == nil {
		*done = sweptCaches{}
	}
	(*done)[c] = true
	return a.Ask(&effect.StoreExpire{Store: c.store(), Date: a.Int(2)}, vm.Nothing)
}

// readUnexpired reads an entry. An entry that does not fit the type is treated as missing, because
// the program has changed since the entry was stored.
func readUnexpired(pace *value.Pace, entry json.RawMessage, date int64, t *value.Type) (value.Slot, bool) {
	var parts []json.RawMessage
	var until int64
	if entry == nil || json.Unmarshal(entry, &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[0], &until) != nil {
		return value.Nil, false
	}
	if date >= until && until < lastDate {
		return value.Nil, false
	}
	v, errs := schema.DecodeStoredIn(pace, parts[1], t)
	return v, len(errs) == 0
}
