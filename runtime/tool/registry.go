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

// ErrClosed is the error of operations on a closed registry or session.
var ErrClosed = errors.New("the tools are closed")

// Names of owners that no file or client provides.
const (
	OwnerGo       = "go"       // tools of the embedding program
	OwnerManifest = "manifest" // tools of the program's manifest
)

// Registry contains the tools of an application. The zero Registry is empty. A Registry is safe for
// concurrent use.
type Registry struct {
	now     atomic.Pointer[snapshot]
	writing sync.Mutex // held while a change builds the next snapshot
	order   uint64
}

// snapshot is an immutable set of tools. Each change of the registry creates a new snapshot.
type snapshot struct {
	entries  []*entry // sorted by name, version and order of registration
	list     []*Definition
	revision uint64
	closed   bool
	next     chan struct{} // closed when a newer snapshot exists
}

func (r *Registry) snapshot() *snapshot {
	if s := r.now.Load(); s != nil {
		return s
	}
	r.now.CompareAndSwap(nil, &snapshot{next: make(chan struct{})})
	return r.now.Load()
}

// sameKey reports whether the registry may contain only one of two entries, because they have the
// same name and version and, for session tools, the same owner.
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

// firstIndex returns the index of the first entry with the name, or the index where it would be
// inserted.
func (s *snapshot) firstIndex(name string) int {
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

// Register adds all the tools or none. The error joins *DefinitionErrors and *DuplicateErrors, or
// is ErrClosed.
func (r *Registry) Register(ds ...Definition) error { return r.As(OwnerGo).Register(ds...) }

// Replace adds tools, and replaces tools of the same owner with the same name and version. For a
// tool of another owner it returns a *DuplicateError. Running calls continue.
func (r *Registry) Replace(ds ...Definition) error { return r.As(OwnerGo).Replace(ds...) }

// Unregister removes tools of any owner: all versions for a name like "x", one version for a name
// like "x@2". It reports whether it has removed a tool. Running calls continue.
func (r *Registry) Unregister(name string) bool {
	return r.removeEntry(name, func(*entry) bool { return true })
}

// Owner registers tools in the name of an owner: "client:ID", "file:PATH", "module:PATH",
// "manifest" or "go". A client's session tools belong to all sessions that the client has opened,
// or to one session if the Owner was returned by In.
type Owner struct {
	r             *Registry
	name, session string
}

// As returns an Owner with the given name.
func (r *Registry) As(owner string) Owner { return Owner{r: r, name: owner} }

// In returns an Owner that registers session-scoped tools of one session.
func (o Owner) In(sessionID string) Owner { return Owner{o.r, o.name, sessionID} }

// Register is like Registry.Register, for this owner.
func (o Owner) Register(ds ...Definition) error { return o.r.putDefinitions(o, ds, false) }

// Replace is like Registry.Replace, for this owner.
func (o Owner) Replace(ds ...Definition) error { return o.r.putDefinitions(o, ds, true) }

// Unregister is like Registry.Unregister, but removes only tools of this owner.
func (o Owner) Unregister(name string) bool {
	return o.r.removeEntry(name, func(e *entry) bool { return e.owner == o.name && (o.session == "" || e.session == o.session) })
}

// Has reports whether the owner has registered the tool "x" or "x@2".
func (o Owner) Has(name string) bool {
	return len(o.r.owners(name, func(e *entry) bool { return e.owner == o.name && (o.session == "" || e.session == o.session) })) > 0
}

// Clear removes all tools of this owner.
func (o Owner) Clear() {
	o.r.dropEntries(func(e *entry) bool { return e.owner == o.name && (o.session == "" || e.session == o.session) })
}

func (r *Registry) putDefinitions(o Owner, ds []Definition, replace bool) error {
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
	dup := &DuplicateError{}
	seen := map[entryID]bool{}
	for _, e := range fresh {
		r.order++
		e.order = r.order
		other := old.twin(e)
		switch {
		case seen[e.entryID()]:
			dup.Tools = append(dup.Tools, Owned{e.id(), o.name})
		case other != nil && replace && other.owner == o.name:
			replaced[other] = true
		case other != nil:
			dup.Tools = append(dup.Tools, Owned{e.id(), other.owner})
		}
		seen[e.entryID()] = true
	}
	if len(dup.Tools) > 0 {
		errs = append(errs, dup)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	slices.SortFunc(fresh, compare)
	entries := old.entries
	if len(replaced) > 0 {
		entries = slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return replaced[e] })
	}
	r.publish(old, merge(entries, fresh))
	for e := range replaced {
		e.releaseHandler()
	}
	return nil
}

// twin returns the entry for which sameKey is true with e, or nil.
func (s *snapshot) twin(e *entry) *entry {
	for i := s.firstIndex(e.def.Name); i < len(s.entries) && s.entries[i].def.Name == e.def.Name; i++ {
		if sameKey(s.entries[i], e) {
			return s.entries[i]
		}
	}
	return nil
}

// merge returns a new sorted list with the elements of two sorted lists.
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

// split parses a name like "x" or "x@2". Version 0 means the highest version.
func split(name string) (base string, version int, ok bool) {
	r, err := toolname.ParseRef(name)
	return r.Name, r.Version, err == nil
}

func (r *Registry) removeEntry(name string, mine func(*entry) bool) bool {
	base, version, ok := split(name)
	return ok && r.dropEntries(func(e *entry) bool {
		return e.def.Name == base && (version == 0 || e.def.Version == version) && mine(e)
	})
}

func (r *Registry) dropEntries(remove func(*entry) bool) bool {
	r.writing.Lock()
	defer r.writing.Unlock()
	old := r.snapshot()
	var rest, out []*entry
	for _, e := range old.entries {
		if remove(e) {
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
		e.releaseHandler()
	}
	return true
}

// releaseHandler releases the resources of a global handler after its last call. wait returns when
// they are released.
func (e *entry) releaseHandler() (wait func()) {
	if e.def.release == nil {
		return func() {}
	}
	return e.def.release()
}

// Get returns the highest version of the tool for a name like "x", or one version for a name like
// "x@2".
func (r *Registry) Get(name string) (Definition, bool) {
	base, version, ok := split(name)
	if !ok {
		return Definition{}, false
	}
	s := r.snapshot()
	var found *entry
	for i := s.firstIndex(base); i < len(s.entries) && s.entries[i].def.Name == base; i++ {
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

// Owners returns the versions of the tool "x", or the version "x@2", with their owners.
func (r *Registry) Owners(name string) []Owned {
	return r.owners(name, func(*entry) bool { return true })
}

func (r *Registry) owners(name string, which func(*entry) bool) (all []Owned) {
	base, version, ok := split(name)
	if !ok {
		return nil
	}
	s := r.snapshot()
	for i := s.firstIndex(base); i < len(s.entries) && s.entries[i].def.Name == base; i++ {
		if e := s.entries[i]; (version == 0 || e.def.Version == version) && which(e) {
			all = append(all, Owned{e.id(), e.owner})
		}
	}
	return all
}

// Filter selects tools. The zero Filter selects none.
type Filter struct {
	names      []string
	categories []string
}

// Named returns a Filter that selects tools by names like "x" or "x@2".
func Named(names ...string) Filter { return Filter{names: names} }

// Category returns a Filter that selects tools by category.
func Category(names ...string) Filter { return Filter{categories: names} }

// Only parses the filters in declarations and manifests: "x", "x@1" or "category:db".
func Only(words ...string) (Filter, error) {
	f := Filter{names: []string{}}
	for _, w := range words {
		category, ok := strings.CutPrefix(w, "category:")
		if ok && category != "" {
			f.categories = append(f.categories, category)
			continue
		}
		if toolname.CheckFilter(w) != nil {
			return f, fmt.Errorf("%q selects no tools: use \"x\", \"x@1\" or \"category:db\"", w)
		}
		f.names = append(f.names, w)
	}
	return f, nil
}

// Has reports whether the filter selects a tool.
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

// versions returns the selected ones among the versions of a tool, in order. A category or a name
// like "x@2" selects each matching version. A name like "x" selects the highest version.
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

// List returns the tools that all filters select, sorted by name and version. The callers share the
// list and must not change it.
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

// Revision returns the number of changes since the registry was created.
func (r *Registry) Revision() uint64 { return r.snapshot().revision }

// Close closes the registry. Afterwards no tool can be registered and no session opened. Close
// waits until the resources of global handlers are released. All sessions must be closed before.
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
		all = append(all, e.releaseHandler())
	}
	for _, wait := range all {
		wait()
	}
}

// Change lists the names and versions ("x@1") of the tools that were added and removed since the
// previous Change, sorted by name. A replaced tool is in both lists.
type Change struct {
	Added, Removed []string
	Revision       uint64
}

// Watch sends changes to the returned channel. It closes the channel when ctx ends or the registry
// is closed. Changes that occur before the receiver is ready are combined into one.
func (r *Registry) Watch(ctx context.Context) <-chan Change {
	out := make(chan Change)
	last := r.snapshot()
	go func() {
		defer close(out)
		for {
			now := r.snapshot()
			var to chan Change
			change := diff(last, now)
			if len(change.Added)+len(change.Removed) > 0 {
				to = out
			} else if now.closed {
				return
			}
			select {
			case to <- change:
				last = now
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
