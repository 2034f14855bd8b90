package random

import (
	"bytes"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

func draw(t *testing.T, s *Source) uint64 {
	t.Helper()
	r, err := s.Perform(t.Context(), &effect.Random{})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*effect.RandomBits).Bits
}

func TestRandom(t *testing.T) {
	seed := int64(7)
	a, b, other := New(&seed), New(nil), New(nil)
	if draw(t, b) == draw(t, other) {
		t.Error("two sources without a seed returned the same number")
	}
	if r, err := b.Perform(t.Context(), &effect.RandomSeed{Seed: seed}); r != nil || err != nil {
		t.Error(r, err)
	}
	for range 5 {
		if x, y := draw(t, a), draw(t, b); x != y {
			t.Errorf("sources with the same seed returned different numbers %d and %d", x, y)
		}
	}
	seed = 8
	if draw(t, New(&seed)) == draw(t, a) {
		t.Error("another seed returned the same number")
	}
}

func TestSecret(t *testing.T) {
	secret := func(n int64) []byte {
		r, err := New(new(int64)).Perform(t.Context(), &effect.Secret{Bytes: n})
		if err != nil {
			t.Fatal(err)
		}
		return r.(*effect.SecretBytes).Bytes
	}
	if x, y := secret(32), secret(32); len(x) != 32 || bytes.Equal(x, y) {
		t.Error("secrets are equal or have the wrong length:", x, y)
	}
	if x := secret(0); len(x) != 0 {
		t.Error(x)
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	if _, err := New(nil).Perform(t.Context(), &effect.Env{}); err == nil || err.Error() != "chance cannot perform env" {
		t.Error(err)
	}
}
