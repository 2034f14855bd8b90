package memstore

import (
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// scopes holds the name of a store and its scopes. T is the store's type. A scope is created on
// first use and remains the same.
type scopes[T any] struct {
	name  string
	self  value.Slot // the store as a value, always the same, so that it equals itself
	make  func(name string) T
	inner map[string]T
}

// Name returns the name with which the store was declared; for a scope, followed by the scope's own
// name.
func (s *scopes[T]) Name() string { return s.name }

// Value returns the store as a value.
func (s *scopes[T]) Value() value.Slot { return s.self }

// Scope returns the store within this one that has that name.
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

// Scopes returns the names of the stores within this one, in order.
func (s *scopes[T]) Scopes() []string { return slices.Sorted(maps.Keys(s.inner)) }
