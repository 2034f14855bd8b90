package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Check validates a value that Decode has returned. It returns all violations, ordered by path.
func (s *Schema) Check(v any) []Problem {
	x := &checking{s: s}
	if s.secretive {
		x.secrets = s.secrets(v)
	}
	x.check(s.root, v, "", nil, nil)
	found := x.found
	sort.SliceStable(found, func(i, j int) bool { return comparePaths(found[i].Path, found[j].Path) < 0 })
	return slices.Compact(found)
}

// checking is the validation of one value.
type checking struct {
	s       *Schema
	found   []Problem
	secrets map[string]bool // paths of the parts that messages must not quote
}

// scope is the chain of resources that references have entered. The innermost resource is first.
type scope struct {
	r     *resource
	outer *scope
}

// evaluated records which members or items of a value some keyword has evaluated, for
// unevaluatedProperties and unevaluatedItems.
type evaluated struct {
	all     bool
	members map[string]bool
	items   map[int]bool
	first   int // number of evaluated items at the beginning of the array
}

func (e *evaluated) add(o *evaluated) {
	e.all = e.all || o.all
	e.first = max(e.first, o.first)
	if e.members == nil {
		e.members = o.members
	} else {
		maps.Copy(e.members, o.members)
	}
	if e.items == nil {
		e.items = o.items
	} else {
		maps.Copy(e.items, o.items)
	}
}

func (e *evaluated) member(name string) {
	if e == nil {
		return
	}
	if e.members == nil {
		e.members = map[string]bool{}
	}
	e.members[name] = true
}

func (e *evaluated) item(i int) {
	if e == nil {
		return
	}
	if e.items == nil {
		e.items = map[int]bool{}
	}
	e.items[i] = true
}

func (x *checking) wrong(path, format string, args ...any) {
	x.found = append(x.found, Problem{path, fmt.Sprintf(format, args...)})
}

// try validates v against n and returns the violations without adding them to found.
func (x *checking) try(n *node, v any, path string, sc *scope, ev *evaluated) []Problem {
	before := x.found
	x.found = nil
	x.check(n, v, path, sc, ev)
	found := x.found
	x.found = before
	return found
}

// check adds the violations of n by v to found. If ev is not nil, it records what n has evaluated.
func (x *checking) check(n *node, v any, path string, sc *scope, ev *evaluated) {
	if n.always != nil {
		if !*n.always {
			x.wrong(path, "not allowed")
		}
		return
	}
	if sc == nil || sc.r != n.resource {
		sc = &scope{n.resource, sc}
	}
	var own *evaluated
	if x.s.tracks {
		own = &evaluated{}
	}
	if !x.types(n, v, path) {
		return // the other violations would only be consequences of this one
	}
	x.values(n, v, path)
	if n.ref != nil {
		x.part(n.ref, v, path, sc, own)
	}
	if n.dynamic != nil {
		x.part(n.dynamic.target(sc), v, path, sc, own)
	}
	switch v := v.(type) {
	case json.Number:
		x.number(n, v, path)
	case string:
		x.text(n, v, path)
	case []any:
		x.array(n, v, path, sc, own)
	case map[string]any:
		x.object(n, v, path, sc, own)
	}
	if n.logic != nil {
		x.logic(n.logic, v, path, sc, own)
	}
	x.unevaluated(n, v, path, sc, own)
	if ev != nil {
		ev.add(own)
	}
}

// part validates v against a subschema that applies to the same value. own receives the members and
// items that the subschema evaluates, but only if the value is valid.
func (x *checking) part(n *node, v any, path string, sc *scope, own *evaluated) bool {
	before := len(x.found)
	var ev *evaluated
	if own != nil {
		ev = &evaluated{}
	}
	x.check(n, v, path, sc, ev)
	fits := len(x.found) == before
	if fits && own != nil {
		own.add(ev)
	}
	return fits
}

// target returns the schema that a dynamic reference refers to: the outermost one with the anchor.
func (d *dynamicRef) target(sc *scope) *node {
	to := d.static
	if d.anchor != "" {
		for ; sc != nil; sc = sc.outer {
			if n := sc.r.dynamic[d.anchor]; n != nil {
				to = n
			}
		}
	}
	return to
}

func (x *checking) types(n *node, v any, path string) bool {
	if len(n.types) == 0 || slices.ContainsFunc(n.types, func(t string) bool { return isType(v, t) }) {
		return true
	}
	x.wrong(path, "expected %s, got %s", either(n.types), x.quote(v, path))
	return false
}

func isType(v any, name string) bool {
	n, isNumber := v.(json.Number)
	if name == "integer" {
		return isNumber && number(n).IsInt()
	}
	return name == typeOf(v)
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func (x *checking) values(n *node, v any, path string) {
	if n.values == nil || slices.ContainsFunc(n.values.enum, func(e any) bool { return equal(v, e) }) {
		return
	}
	if len(n.values.enum) == 0 {
		x.wrong(path, "not allowed")
		return
	}
	var names []string
	for _, e := range n.values.enum {
		names = append(names, show(e))
	}
	x.wrong(path, "expected %s, got %s", either(names), x.quote(v, path))
}

func (x *checking) number(n *node, v json.Number, path string) {
	r := n.numbers
	if r == nil {
		return
	}
	got := number(v)
	hold := func(b *bound, what string, ok func(int) bool) {
		if b != nil && !ok(got.Cmp(b.rat)) {
			x.wrong(path, "expected %s %s, got %s", what, b.text, x.quote(v, path))
		}
	}
	hold(r.min, "at least", func(c int) bool { return c >= 0 })
	hold(r.max, "at most", func(c int) bool { return c <= 0 })
	hold(r.above, "more than", func(c int) bool { return c > 0 })
	hold(r.below, "less than", func(c int) bool { return c < 0 })
	if b := r.multiple; b != nil && !got.Quo(got, b.rat).IsInt() {
		x.wrong(path, "expected a multiple of %s, got %s", b.text, x.quote(v, path))
	}
}

func (x *checking) text(n *node, v, path string) {
	r := n.texts
	if r == nil {
		return
	}
	if r.minLength != nil || r.maxLength != nil {
		x.size(path, utf8.RuneCountInString(v), r.minLength, r.maxLength, "character")
	}
	if r.pattern != nil && !r.pattern.MatchString(v) {
		x.wrong(path, "expected a match of %s, got %s", r.pattern, x.quote(v, path))
	}
	if r.format != "" && !isFormat(r.format, v) {
		x.wrong(path, "expected %s, got %s", r.format, x.quote(v, path))
	}
}

// size reports a violation if got is less than least or more than most. A nil limit is ignored.
func (x *checking) size(path string, got int, least, most *int, what string) {
	expected := func(than string, n int) {
		if n != 1 {
			what += "s"
		}
		x.wrong(path, "expected %s %d %s, got %d", than, n, what, got)
	}
	if least != nil && got < *least {
		expected("at least", *least)
	} else if most != nil && got > *most {
		expected("at most", *most)
	}
}

func (x *checking) array(n *node, list []any, path string, sc *scope, own *evaluated) {
	r := n.arrays
	if r == nil {
		return
	}
	x.size(path, len(list), r.minItems, r.maxItems, "item")
	for i, v := range list {
		switch {
		case i < len(r.prefix):
			x.check(r.prefix[i], v, item(path, i), sc, nil)
		case r.items != nil:
			x.check(r.items, v, item(path, i), sc, nil)
		default:
			continue
		}
		if own != nil {
			own.first = max(own.first, i+1)
		}
	}
	if r.unique {
		if i, j, twice := findEqual(list); twice {
			x.wrong(path, "items %d and %d are equal", i, j)
		}
	}
	if r.contains != nil {
		x.contains(r, list, path, sc, own)
	}
}

func (x *checking) contains(r *arrayRules, list []any, path string, sc *scope, own *evaluated) {
	fit := 0
	for i, v := range list {
		if len(x.try(r.contains, v, item(path, i), sc, nil)) == 0 {
			fit++
			own.item(i)
		}
	}
	least := 1
	if r.minContains != nil {
		least = *r.minContains
	}
	x.size(path, fit, &least, r.maxContains, "matching item")
}

func (x *checking) object(n *node, o map[string]any, path string, sc *scope, own *evaluated) {
	r := n.objects
	if r == nil {
		return
	}
	x.size(path, len(o), r.minimum, r.maximum, "member")
	for _, name := range r.required {
		if _, ok := o[name]; !ok {
			x.wrong(member(path, name), "missing")
		}
	}
	var few [8]string // buffer that avoids allocations for small objects
	names := few[:0]
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		x.member(r, name, o[name], path, sc, own)
	}
	for _, name := range sorted(r.dependentRequired) {
		if _, ok := o[name]; !ok {
			continue
		}
		for _, wanted := range r.dependentRequired[name] {
			if _, ok := o[wanted]; !ok {
				x.wrong(member(path, wanted), "missing (%s needs it)", name)
			}
		}
	}
	for _, name := range sorted(r.dependentSchemas) {
		if _, ok := o[name]; ok {
			x.part(r.dependentSchemas[name], o, path, sc, own)
		}
	}
}

// sorted returns the sorted keys of a map. It is optimised for empty maps, because most schemas
// have few rules.
func sorted[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

func (x *checking) member(r *objectRules, name string, v any, path string, sc *scope, own *evaluated) {
	at := member(path, name)
	if r.propertyNames != nil {
		for _, p := range x.try(r.propertyNames, name, "", sc, nil) {
			x.wrong(at, "not allowed as a name: %s", p)
		}
	}
	matched := false
	if n := r.properties[name]; n != nil {
		matched = true
		x.check(n, v, at, sc, nil)
	}
	for _, p := range r.patterns {
		if p.pattern.MatchString(name) {
			matched = true
			x.check(p.node, v, at, sc, nil)
		}
	}
	if !matched && r.additional != nil {
		matched = true
		if r.additional.always != nil && !*r.additional.always {
			x.wrong(at, "unknown%s", nearest(name, r.names))
		} else {
			x.check(r.additional, v, at, sc, nil)
		}
	}
	if matched {
		own.member(name)
	}
}

func (x *checking) logic(r *logicRules, v any, path string, sc *scope, own *evaluated) {
	for _, n := range r.all {
		x.part(n, v, path, sc, own)
	}
	if r.any != nil {
		x.alternatives(r.any, v, path, sc, own, false)
	}
	if r.one != nil {
		x.alternatives(r.one, v, path, sc, own, true)
	}
	if r.not != nil && len(x.try(r.not, v, path, sc, nil)) == 0 {
		x.wrong(path, "not allowed")
	}
	if r.cond == nil {
		return
	}
	ev := own.fresh()
	if len(x.try(r.cond, v, path, sc, ev)) == 0 {
		own.take(ev)
		if r.then != nil {
			x.part(r.then, v, path, sc, own)
		}
	} else if r.els != nil {
		x.part(r.els, v, path, sc, own)
	}
}

// fresh returns a new, empty set, or nil if e is nil.
func (e *evaluated) fresh() *evaluated {
	if e == nil {
		return nil
	}
	return &evaluated{}
}

func (e *evaluated) take(o *evaluated) {
	if e != nil {
		e.add(o)
	}
}

// alternatives validates v against schemas of which at least one must match, or exactly one if
// exactly is true. If no schema matches and all schemas except one are for other types or values,
// it reports the violations of that schema.
func (x *checking) alternatives(list []*node, v any, path string, sc *scope, own *evaluated, exactly bool) {
	fit := 0
	var meant [][]Problem
	for _, n := range list {
		ev := own.fresh()
		found := x.try(n, v, path, sc, ev)
		if len(found) == 0 {
			fit++
			own.take(ev)
		} else if !slices.ContainsFunc(found, func(p Problem) bool { return p.Path == path && strings.HasPrefix(p.Message, "expected ") }) {
			meant = append(meant, found)
		}
	}
	switch {
	case fit == 1 || fit > 1 && !exactly:
	case fit > 1:
		x.wrong(path, "fits %d of %d alternatives, must fit one", fit, len(list))
	case len(meant) == 1:
		x.found = append(x.found, meant[0]...)
	default:
		if types := x.typesOf(list); types != nil && len(meant) == 0 {
			x.wrong(path, "expected %s, got %s", either(types), x.quote(v, path))
			return
		}
		x.wrong(path, "fits none of %d alternatives, got %s", len(list), x.quote(v, path))
	}
}

// typesOf returns the types of the alternatives if each of them specifies only a type, and
// otherwise nil.
func (x *checking) typesOf(list []*node) []string {
	var types []string
	for _, n := range list {
		if len(n.types) == 0 || n.values != nil {
			return nil
		}
		types = append(types, n.types...)
	}
	return types
}

func (x *checking) unevaluated(n *node, v any, path string, sc *scope, own *evaluated) {
	if own == nil || own.all {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if n.objects == nil || n.objects.unevaluated == nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if own.members[name] {
				continue
			}
			if rest := n.objects.unevaluated; rest.always != nil && !*rest.always {
				x.wrong(member(path, name), "unknown")
			} else {
				x.check(rest, v[name], member(path, name), sc, nil)
			}
		}
	case []any:
		if n.arrays == nil || n.arrays.unevaluated == nil {
			return
		}
		for i := own.first; i < len(v); i++ {
			if !own.items[i] {
				x.check(n.arrays.unevaluated, v[i], item(path, i), sc, nil)
			}
		}
	default:
		return
	}
	own.all = true
}
