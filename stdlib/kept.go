package stdlib

import (
	"cmp"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonrepair"
	"github.com/concerto-lang/concerto/vm"
)

// What natives keep of a run, in a snapshot of it. Each says once what it is made of, for writing
// and for reading.

// Kept makes an empty one of what the library keeps of a run, by its name in snapshots; nil when
// there is none of that name. It is for vm.Config.
func Kept(name string) vm.Kept {
	for _, make := range keptKinds {
		if x := make(); x.KeptAs() == name {
			return x
		}
	}
	return nil
}

var keptKinds = []func() vm.Kept{
	func() vm.Kept { return new(cache) },
	func() vm.Kept { return new(swept) },
	func() vm.Kept { return new(remotes) },
	func() vm.Kept { return new(mocks) },
	func() vm.Kept { return new(mockedApp) },
	func() vm.Kept { return new(mockedServers) },
	func() vm.Kept { return new(partial) },
}

func (*cache) KeptAs() string         { return "cache" }
func (*swept) KeptAs() string         { return "swept" }
func (*remotes) KeptAs() string       { return "remotes" }
func (*mocks) KeptAs() string         { return "mocks" }
func (*mockedApp) KeptAs() string     { return "mocked app" }
func (*mockedServers) KeptAs() string { return "mocked servers" }
func (*partial) KeptAs() string       { return "partial" }

// keepMap keeps a map in the order of its keys; each keeps one entry.
func keepMap[K cmp.Ordered, V any](k *vm.Keeper, m *map[K]V, each func(*K, *V)) {
	keys := slices.Sorted(maps.Keys(*m))
	n := k.Count(len(keys))
	for i := range n {
		var key K
		var v V
		if !k.Reading() {
			key, v = keys[i], (*m)[keys[i]]
		}
		if each(&key, &v); !k.Reading() {
			continue
		}
		if *m == nil {
			*m = map[K]V{}
		}
		(*m)[key] = v
	}
}

// Keep keeps the answers of `@cache`.
func (c *cache) Keep(k *vm.Keeper) {
	sweep := int64(c.sweep)
	k.Int(&sweep)
	c.sweep = int(sweep)
	keepMap(k, &c.kept, func(key *string, x *cached) {
		k.Text(key)
		k.Slot(&x.value)
		k.Int(&x.until)
	})
}

// Keep keeps which caches in files have been swept.
func (s *swept) Keep(k *vm.Keeper) {
	all := slices.SortedFunc(maps.Keys(*s), func(a, b keptCache) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.name, b.name))
	})
	for i := range k.Count(len(all)) {
		var c keptCache
		if !k.Reading() {
			c = all[i]
		}
		k.Text(&c.file)
		if k.Text(&c.name); k.Reading() {
			if *s == nil {
				*s = swept{}
			}
			(*s)[c] = true
		}
	}
}

// Keep keeps what servers have said that they have.
func (m *remotes) Keep(k *vm.Keeper) {
	all := slices.SortedFunc(maps.Keys(*m), func(a, b *vm.Tool) int { return cmp.Compare(a.Info().Name, b.Info().Name) })
	for i := range k.Count(len(all)) {
		var x *vm.Tool
		if !k.Reading() {
			x = all[i]
		}
		if k.Tool(&x); x != nil {
			m.of(x).keep(k, x)
		}
	}
}

func (r *remotesOf) keep(k *vm.Keeper, x *vm.Tool) {
	k.Bool(&r.asked)
	k.Bool(&r.any)
	n := k.Count(len(r.functions))
	for i := range n {
		var f remote
		if !k.Reading() {
			f = r.functions[i]
		}
		parameters := string(f.parameters)
		for _, text := range []*string{&f.own, &f.name, &f.description, &parameters} {
			k.Text(text)
		}
		if k.Reading() {
			f.parameters = []byte(parameters)
			r.functions = append(r.functions, f)
			x.Besides = append(x.Besides, effect.ToolSpec{Name: f.name, Description: f.description, Parameters: f.parameters})
		}
	}
}

// Keep keeps the closures that answer for agents and hosts.
func (m *mocks) Keep(k *vm.Keeper) {
	keepMap(k, &m.closures, func(key *int, f *value.Slot) {
		n := int64(*key)
		k.Int(&n)
		*key = int(n)
		k.Slot(f)
	})
}

// Keep keeps the closures that answer for the application's tools.
func (m *mockedApp) Keep(k *vm.Keeper) {
	keepMap(k, (*map[string]value.Slot)(m), func(name *string, f *value.Slot) {
		k.Text(name)
		k.Slot(f)
	})
}

// Keep keeps the answers for the functions of servers.
func (m *mockedServers) Keep(k *vm.Keeper) {
	keepMap(k, (*map[string]*value.Map)(m), func(name *string, answers **value.Map) {
		k.Text(name)
		v := value.Nil
		if *answers != nil {
			v = (*answers).Slot()
		}
		if k.Slot(&v); v.Map() == nil {
			k.Fail("a mock of a server has no functions")
		}
		*answers = v.Map()
	})
}

// Keep keeps a part of a value as the texts that it was read from.
func (p *partial) Keep(k *vm.Keeper) {
	k.Type(&p.typ)
	n := k.Count(len(p.fed))
	if k.Reading() {
		if p.typ == nil {
			k.Fail("a partial value has no type")
			return
		}
		*p = *newPartial(p.typ)
		p.reader = jsonrepair.NewPartial(p)
	}
	for i := range n {
		text := ""
		if !k.Reading() {
			text = p.fed[i]
		}
		if k.Text(&text); k.Reading() {
			p.feed(text)
		}
	}
}
