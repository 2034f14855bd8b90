// Package random performs effect.Random, effect.RandomSeed and effect.Secret. A running program
// obtains random numbers only from this package.
package random

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Source performs effect.Random, effect.RandomSeed and effect.Secret. It is safe for concurrent
// use.
type Source struct {
	mu     sync.Mutex
	stream *rand.ChaCha8 // nil until the first number is drawn
}

// New returns a Source. With a seed, the Source returns the same numbers in every run. nil means an
// unpredictable seed.
func New(seed *int64) *Source {
	s := &Source{}
	if seed != nil {
		s.stream = seeded(*seed)
	}
	return s
}

func seeded(seed int64) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], uint64(seed))
	return rand.NewChaCha8(key)
}

// Perform returns a number, sets the seed, or returns secret bytes, which do not depend on the
// seed.
func (s *Source) Perform(_ context.Context, r effect.Request) (effect.Result, error) {
	switch q := r.(type) {
	case *effect.Random:
		return &effect.RandomBits{Bits: s.nextUint64()}, nil
	case *effect.RandomSeed:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stream = seeded(q.Seed)
		return nil, nil
	case *effect.Secret:
		b := make([]byte, q.Bytes)
		crand.Read(b) // crand.Read never fails
		return &effect.SecretBytes{Bytes: b}, nil
	}
	return nil, &effect.UnperformedError{Who: "chance", Kind: r.Kind()}
}

func (s *Source) nextUint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == nil {
		var key [32]byte
		crand.Read(key[:]) // crand.Read never fails
		s.stream = rand.NewChaCha8(key)
	}
	return s.stream.Uint64()
}
