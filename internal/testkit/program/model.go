package program

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// composition is the kind of a type of the model.
type composition uint8

const (
	whole   composition = iota // Int
	text                       // String
	array                      // array; parts contains the element type
	keyed                      // Map<String, T>; parts contains T
	tuple                      // tuple; parts contains the element types
	record                     // struct; parts contains the field types
	choice                     // enum
	perhaps                    // Option of a type that is not an Option; parts contains that type
)

// shape is a type of the model's programs.
type shape struct {
	name     string
	is       composition
	parts    []*shape
	fields   []string  // field names of a record
	variants []variant // variants of a choice
}

// variant is a variant of an enum. If it has no fields, its payload is unnamed.
type variant struct {
	name   string
	fields []string
	parts  []*shape
}

// node is a structured value of the model. Other values are int, string, and nil for None; Some(x)
// is x. Values are trees: two of them never share a part.
type node struct {
	shape   *shape
	variant int      // index of the variant of a choice
	keys    []string // keys of a map in insertion order
	items   []any
}

// clone returns a deep copy of v.
func clone(v any) any {
	n, ok := v.(*node)
	if !ok {
		return v
	}
	out := &node{n.shape, n.variant, slices.Clone(n.keys), make([]any, len(n.items))}
	for i, x := range n.items {
		out.items[i] = clone(x)
	}
	return out
}

// same reports whether two values are equal; the order of map entries does not count.
func same(a, b any) bool {
	x, ok := a.(*node)
	y, also := b.(*node)
	if !ok || !also {
		return a == b
	}
	if x.variant != y.variant || len(x.items) != len(y.items) {
		return false
	}
	for i := range x.items {
		k := i
		if x.shape.is == keyed {
			if k = slices.Index(y.keys, x.keys[i]); k < 0 {
				return false
			}
		}
		if !same(x.items[i], y.items[k]) {
			return false
		}
	}
	return true
}

// format formats a value like println.
func format(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return "nil"
	case *node:
		if v.shape.is == choice && len(v.items) == 0 {
			return v.shape.variants[v.variant].name
		}
	}
	return inJSON(v)
}

func inJSON(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(v)
	case *node:
		switch v.shape.is {
		case keyed:
			return object(v.keys, v.items)
		case record:
			return object(v.shape.fields, v.items)
		case choice:
			return v.variantJSON()
		}
		return formatList(v.items)
	}
	return fmt.Sprint(v)
}

func (v *node) variantJSON() string {
	w := &v.shape.variants[v.variant]
	data := ""
	switch {
	case len(v.items) == 0:
		return strconv.Quote(w.name)
	case w.fields != nil:
		data = object(w.fields, v.items)
	case len(v.items) == 1:
		data = inJSON(v.items[0])
	default:
		data = formatList(v.items)
	}
	return fmt.Sprintf(`{"variant":%q,"data":%s}`, w.name, data)
}

func formatList(items []any) string {
	var parts []string
	for _, x := range items {
		parts = append(parts, inJSON(x))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func object(keys []string, items []any) string {
	var parts []string
	for i, k := range keys {
		parts = append(parts, strconv.Quote(k)+":"+inJSON(items[i]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// set sets the value of a map's key; a new key comes last.
func (v *node) set(key string, x any) {
	if i := slices.Index(v.keys, key); i >= 0 {
		v.items[i] = x
		return
	}
	v.keys, v.items = append(v.keys, key), append(v.items, x)
}

// remove removes a map's key and returns its value, or nil if the key did not exist.
func (v *node) remove(key string) any {
	i := slices.Index(v.keys, key)
	if i < 0 {
		return nil
	}
	x := v.items[i]
	v.keys, v.items = slices.Delete(v.keys, i, i+1), slices.Delete(v.items, i, i+1)
	return x
}

// fault is the value of a panic that represents an error of the program. The panic ends at the next
// try.
type fault struct{}

// faults runs part of a program and reports whether it raised a fault.
func faults(run func()) (faulted bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(fault); !ok {
				panic(r)
			}
			faulted = true
		}
	}()
	run()
	return false
}
