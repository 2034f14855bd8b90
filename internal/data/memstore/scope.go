package memstore

import (
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// scopes contains the name of a store and its scopes. T is the type of the store. A scope is
// created at its first use.
type scopes[T any] struct {
	name  string
	self  value.Slot // store as a value; always the same slot, so that it is equal to itself
	make  func(name string) T
	inner map[string]T
}

// Name returns the declared name of the store. For a scope, the name of the scope follows.
func (s *scopes[T]) Name() string { return s.name }

// Value returns the store as a value.
func (s *scopes[T]) Value() value.Slot { return s.self }

// Scope returns the store with this name inside this one.
func (s *scopes[T]) Scope(name string) T {
	if in, ok := s.inner[name]; ok {
		return in
	}
	if s.inner == nil {
		s.inner = map[string]T{}
	}
	in := s.make(s.name + "." + name)
	s.inner[name] = in
	return in
}

// Scopes returns the sorted names of the stores inside this one.
func (s *scopes[T]) Scopes() []string { return slices.Sorted(maps.Keys(s.inner)) }
