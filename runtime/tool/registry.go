package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/toolname"
)

// ErrClosed is the error of a registry or session that was closed.
var ErrClosed = errors.New("the tools are closed")

// Owners that have no name of their own.
const (
	OwnerGo       = "go"       // what the embedding program registers
	OwnerManifest = "manifest" // what the program's manifest declares
)

// Registry is the tools of an application. Its zero value is empty. Safe for
// concurrent use.
type Registry struct {
	now     atomic.Pointer[snapshot]
	writing sync.Mutex // held by who makes the next snapshot
	order   uint64
}

// snapshot is the tools at one time. It is never changed: who writes makes the next.
type snapshot struct {
	entries  []*entry // by name, version, then order of registration
	list     []*Definition
	revision uint64
	closed   bool
	next     chan struct{} // closed when there is another
}

func (r *Registry) snapshot() *snapshot {
	if s := r.now.Load(); s != nil {
		return s
	}
	r.now.CompareAndSwap(nil, &snapshot{next: make(chan struct{})})
	return r.now.Load()
}

// sameKey says whether there may be only one of two: a version of a name, of
// session-scoped tools of an owner.
func sameKey(a, b *entry) bool {
	if a.def.Name != b.def.Name || a.def.Version != b.def.Version || a.def.Scope != b.def.Scope {
		return false
	}
	return a.def.Scope == Global || a.owner == b.owner && a.session == b.session
}

func compare(a, b *entry) int {
	if c := strings.Compare(a.def.Name, b.def.Name); c != 0 {
		return c
	}
	if a.def.Version != b.def.Version {
		return a.def.Version - b.def.Version
	}
	return int(a.order) - int(b.order)
}

// first is the place of the first entry of a name.
func (s *snapshot) first(name string) int {
	lo, hi := 0, len(s.entries)
	for lo < hi {
		mid := (lo + hi) / 2
		if s.entries[mid].def.Name < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Register adds tools, all or none. Its error is a *DefinitionError or a
// *DuplicateError, all of them joined, or ErrClosed.
func (r *Registry) Register(ds ...Definition) error { return r.As(OwnerGo).Register(ds...) }

// Replace adds tools, or puts them in the place of those that there are; of another
// owner's it is a *DuplicateError. Calls under way go on.
func (r *Registry) Replace(ds ...Definition) error { return r.As(OwnerGo).Replace(ds...) }

// Unregister takes tools away, whoever owns them: every version of "x", or "x@2". It
// says whether there was one. Calls under way go on.
func (r *Registry) Unregister(name string) bool {
	return r.remove(name, func(*entry) bool { return true })
}

// Owner registers tools in a name: "client:ID", "file:PATH", "module:PATH",
// "manifest", "go". Session-scoped tools of a client are those of the sessions that it
// opened, of a session's name of that session.
type Owner struct {
	r             *Registry
	name, session string
}

// As registers for an owner.
func (r *Registry) As(owner string) Owner { return Owner{r: r, name: owner} }

// In registers session-scoped tools of one session.
func (o Owner) In(sessionID string) Owner { return Owner{o.r, o.name, sessionID} }

// Register is Registry's, for the owner.
func (o Owner) Register(ds ...Definition) error { return o.r.put(o, ds, false) }

// Replace is Registry's, for the owner.
func (o Owner) Replace(ds ...Definition) error { return o.r.put(o, ds, true) }

// Unregister is Registry's, for what the owner has.
func (o Owner) Unregister(name string) bool {
	return o.r.remove(name, func(e *entry) bool { return e.owner == o.name && (o.session == "" || e.session == o.session) })
}

// Has says whether the owner has a tool of a name, "x" or "x@2".
func (o Owner) Has(name string) bool {
	return len(o.r.owners(name, func(e *entry) bool { return e.owner == o.name && (o.session == "" || e.session == o.session) })) > 0
}

// Clear takes away all that the owner has.
func (o Owner) Clear() {
	o.r.drop(func(e *entry) bool { return e.owner == o.name && (o.session == "" || e.session == o.session) })
}

func (r *Registry) put(o Owner, ds []Definition, replace bool) error {
	fresh := make([]*entry, 0, len(ds))
	var errs []error
	for _, d := range ds {
		e, err := define(d)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if e.owner = o.name; e.def.Scope == PerSession {
			e.session = o.session
		}
		fresh = append(fresh, e)
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	old := r.snapshot()
	if old.closed {
		return ErrClosed
	}
	replaced := map[*entry]bool{}
	taken := &DuplicateError{}
	seen := map[entryID]bool{}
	for _, e := range fresh {
		r.order++
		e.order = r.order
		other := old.twin(e)
		switch {
		case seen[e.key()]:
			taken.Tools = append(taken.Tools, Owned{e.id(), o.name})
		case other != nil && replace && other.owner == o.name:
			replaced[other] = true
		case other != nil:
			taken.Tools = append(taken.Tools, Owned{e.id(), other.owner})
		}
		seen[e.key()] = true
	}
	if len(taken.Tools) > 0 {
		errs = append(errs, taken)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	slices.SortFunc(fresh, compare)
	kept := old.entries
	if len(replaced) > 0 {
		kept = slices.DeleteFunc(slices.Clone(kept), func(e *entry) bool { return replaced[e] })
	}
	r.publish(old, merge(kept, fresh))
	for e := range replaced {
		e.release()
	}
	return nil
}

// twin is what has the key of e.
func (s *snapshot) twin(e *entry) *entry {
	for i := s.first(e.def.Name); i < len(s.entries) && s.entries[i].def.Name == e.def.Name; i++ {
		if sameKey(s.entries[i], e) {
			return s.entries[i]
		}
	}
	return nil
}

// merge puts two sorted lists together in a new one.
func merge(a, b []*entry) []*entry {
	out := make([]*entry, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		at, _ := slices.BinarySearchFunc(a, b[0], compare)
		out = append(append(out, a[:at]...), b[0])
		a, b = a[at:], b[1:]
	}
	return append(append(out, a...), b...)
}

func (r *Registry) publish(old *snapshot, entries []*entry) {
	s := &snapshot{entries: entries, revision: old.revision + 1, next: make(chan struct{})}
	s.list = make([]*Definition, len(entries))
	for i, e := range entries {
		s.list[i] = &e.def
	}
	r.now.Store(s)
	close(old.next)
}

// split reads "x" or "x@2"; version 0 is the highest there is.
func split(name string) (base string, version int, ok bool) {
	r, err := toolname.ParseRef(name)
	return r.Name, r.Version, err == nil
}

func (r *Registry) remove(name string, mine func(*entry) bool) bool {
	base, version, ok := split(name)
	return ok && r.drop(func(e *entry) bool {
		return e.def.Name == base && (version == 0 || e.def.Version == version) && mine(e)
	})
}

func (r *Registry) drop(gone func(*entry) bool) bool {
	r.writing.Lock()
	defer r.writing.Unlock()
	old := r.snapshot()
	var rest, out []*entry
	for _, e := range old.entries {
		if gone(e) {
			out = append(out, e)
		} else {
			rest = append(rest, e)
		}
	}
	if len(out) == 0 || old.closed {
		return false
	}
	r.publish(old, rest)
	for _, e := range out {
		e.release()
	}
	return true
}

// release ends what a global handler keeps, once its calls are over.
func (e *entry) release() (wait func()) {
	if e.def.release == nil {
		return func() {}
	}
	return e.def.release()
}

// Get gives the tool of a name, "x" or "x@2"; of "x" the highest version.
func (r *Registry) Get(name string) (Definition, bool) {
	base, version, ok := split(name)
	if !ok {
		return Definition{}, false
	}
	s := r.snapshot()
	var found *entry
	for i := s.first(base); i < len(s.entries) && s.entries[i].def.Name == base; i++ {
		e := s.entries[i]
		if (version == 0 || e.def.Version == version) && (found == nil || e.def.Version > found.def.Version) {
			found = e
		}
	}
	if found == nil {
		return Definition{}, false
	}
	return found.def, true
}

// Owners are the tools of a name, "x" or "x@2", each with its owner.
func (r *Registry) Owners(name string) []Owned {
	return r.owners(name, func(*entry) bool { return true })
}

func (r *Registry) owners(name string, which func(*entry) bool) (all []Owned) {
	base, version, ok := split(name)
	if !ok {
		return nil
	}
	s := r.snapshot()
	for i := s.first(base); i < len(s.entries) && s.entries[i].def.Name == base; i++ {
		if e := s.entries[i]; (version == 0 || e.def.Version == version) && which(e) {
			all = append(all, Owned{e.id(), e.owner})
		}
	}
	return all
}

// Filter chooses tools of a list.
type Filter struct {
	names      []string
	categories []string
}

// Named chooses the tools of these names, "x" or "x@2".
func Named(names ...string) Filter { return Filter{names: names} }

// Category chooses the tools of these categories.
func Category(names ...string) Filter { return Filter{categories: names} }

// Only reads what declarations and manifests write: "x", "x@1", "category:db".
func Only(words ...string) (Filter, error) {
	f := Filter{names: []string{}}
	for _, w := range words {
		category, ok := strings.CutPrefix(w, "category:")
		if ok && category != "" {
			f.categories = append(f.categories, category)
			continue
		}
		if toolname.CheckFilter(w) != nil {
			return f, fmt.Errorf("%q names no tools: \"x\", \"x@1\" and \"category:db\" do", w)
		}
		f.names = append(f.names, w)
	}
	return f, nil
}

// Has says whether a tool is chosen.
func (f Filter) Has(d *Definition) bool {
	if slices.Contains(f.categories, d.Category) {
		return true
	}
	for _, name := range f.names {
		base, version, ok := split(name)
		if ok && base == d.Name && (version == 0 || version == d.Version) {
			return true
		}
	}
	return false
}

// versions returns those of a tool's versions, in their order, that are chosen: by their
// category, exactly as "x@2", or as "x", which is the highest version.
func (f *Filter) versions(all []Bound) (chosen []Bound) {
	for i, b := range all {
		d := b.Definition()
		exact := Filter{categories: f.categories}
		for _, name := range f.names {
			if strings.Contains(name, "@") || i == len(all)-1 {
				exact.names = append(exact.names, name)
			}
		}
		if exact.Has(d) {
			chosen = append(chosen, b)
		}
	}
	return chosen
}

// List gives the tools that every filter chooses, by name, then version. It is shared:
// the caller must not change it.
func (r *Registry) List(only ...Filter) []*Definition {
	list := r.snapshot().list
	if len(only) == 0 {
		return list
	}
	out := []*Definition{}
	for _, d := range list {
		if !slices.ContainsFunc(only, func(f Filter) bool { return !f.Has(d) }) {
			out = append(out, d)
		}
	}
	return out
}

// Revision counts the changes.
func (r *Registry) Revision() uint64 { return r.snapshot().revision }

// Close ends the registry: nothing more is registered, and no session opened. It waits until
// what global handlers keep has ended. Sessions are closed by who opened them, before.
func (r *Registry) Close() {
	r.writing.Lock()
	old := r.snapshot()
	if !old.closed {
		s := *old
		s.closed, s.next = true, make(chan struct{})
		r.now.Store(&s)
		close(old.next)
	}
	r.writing.Unlock()
	var all []func()
	for _, e := range old.entries {
		all = append(all, e.release())
	}
	for _, wait := range all {
		wait()
	}
}

// Change is what became of the tools since the last one: their versions ("x@1"), by
// name. One that was replaced is in both.
type Change struct {
	Added, Removed []string
	Revision       uint64
}

// Watch tells of changes until ctx ends or the registry is closed, which closes the
// channel. What changes while nobody receives comes as one.
func (r *Registry) Watch(ctx context.Context) <-chan Change {
	out := make(chan Change)
	told := r.snapshot()
	go func() {
		defer close(out)
		for {
			now := r.snapshot()
			var to chan Change
			change := diff(told, now)
			if len(change.Added)+len(change.Removed) > 0 {
				to = out
			} else if now.closed {
				return
			}
			select {
			case to <- change:
				told = now
			case <-now.next:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func diff(old, now *snapshot) Change {
	c := Change{Revision: now.revision}
	a, b := old.entries, now.entries
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && len(b) > 0 && a[0] == b[0]:
			a, b = a[1:], b[1:]
		case len(b) == 0 || len(a) > 0 && compare(a[0], b[0]) < 0:
			c.Removed = append(c.Removed, a[0].id())
			a = a[1:]
		default:
			c.Added = append(c.Added, b[0].id())
			b = b[1:]
		}
	}
	return c
}
