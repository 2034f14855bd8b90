package store

import "github.com/concerto-lang/concerto/internal/value"

// scopes is what a store knows of itself and of the stores within it, T being
// the store's own type. A scope is made when it is first asked for and is the
// same one ever after.
type scopes[T any] struct {
	name  string
	self  value.Slot // the store as a value, one for its whole life, so that it equals itself
	make  func(name string) T
	inner map[string]T
}

// Name is the name that the store was declared with; a scope's has the
// scope's own behind it.
func (s *scopes[T]) Name() string { return s.name }

// Value gives the store as a value.
func (s *scopes[T]) Value() value.Slot { return s.self }

// Scope gives the store within this one that has that name.
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
