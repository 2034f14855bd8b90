package stdlib

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// The answers that `@cache` keeps during the run. Expired answers are looked
// for whenever the cache has doubled, so that its size stays in proportion to
// the live ones.

type cache struct {
	kept  map[string]cached
	sweep int // entries at which expired ones are looked for
}

type cached struct {
	value value.Slot
	until int64 // monotonic milliseconds
}

const firstSweep = 256

func (c *cache) get(key string, now int64) (value.Slot, bool) {
	x, ok := c.kept[key]
	if ok && now >= x.until {
		delete(c.kept, key)
		ok = false
	}
	return x.value, ok
}

func (c *cache) put(key string, v value.Slot, now, ttl int64) {
	if c.kept == nil {
		c.kept, c.sweep = map[string]cached{}, firstSweep
	}
	if len(c.kept) >= c.sweep {
		for k, x := range c.kept {
			if now >= x.until {
				delete(c.kept, k)
			}
		}
		c.sweep = max(2*len(c.kept), firstSweep)
	}
	until := now + ttl
	if until < now { // for ever
		until = 1<<63 - 1
	}
	c.kept[key] = cached{v, until}
}

// The arguments of cache.get are (key, now), of cache.put (key, value, now, ttl_ms).
var cacheNatives = native.Table{
	{"cache.key", cacheKey},
	{"cache.get", func(a *vm.Args) (value.Slot, error) {
		v, ok := vm.Own[cache](a).get(a.String(0), a.Int(1))
		if !ok {
			return value.Nil, nil
		}
		return value.Tuple(native.Lend(v), value.Nil), nil
	}},
	{"cache.put", func(a *vm.Args) (value.Slot, error) {
		vm.Own[cache](a).put(a.String(0), native.Lend(a.Slot(1)), a.Int(2), a.Int(3))
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

// keyer writes the text of a key, which differs where the values differ. An
// agent or a host is written as its declaration with the values that builders
// have set.
type keyer struct {
	of    string
	pace  *value.Pace
	depth int
}

// deepestKey is how deep the arguments of a cached call may nest.
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
		return fmt.Append(dst, s.AsFloat()) // inf and NaN are no JSON
	case value.KindClosure, value.KindCell, value.KindHandle, value.KindTypeDesc:
		panic(value.Faultf("@cache of %s: its arguments hold %s, which cannot be part of a key", k.of, value.TypeName(s)))
	}
	return value.AppendJSONWithin(dst, s, &value.Bound{Pace: k.pace})
}

func (k *keyer) fields(dst []byte, fields []value.Slot) []byte {
	return k.list(dst, len(fields), func(i int) value.Slot { return fields[i] })
}

// list appends n values and the end of their list.
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

func (*cache) KeptAs() string { return "cache" }

// Keep keeps the answers of `@cache`.
func (c *cache) Keep(k *vm.Keeper) {
	sweep := int64(c.sweep)
	k.Int(&sweep)
	c.sweep = int(sweep)
	native.KeepMap(k, &c.kept, func(key *string, x *cached) {
		k.Text(key)
		k.Slot(&x.value)
		k.Int(&x.until)
	})
}
