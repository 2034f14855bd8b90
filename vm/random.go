package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

func init() {
	performs["random"] = &performing{
		request: func(*task, *Args) (effect.Request, error) { return &effect.Random{}, nil },
		value: func(r effect.Result) (value.Slot, error) {
			return value.Int(int64(r.(*effect.RandomBits).Bits)), nil
		},
	}
	performs["random.seed"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) { return &effect.RandomSeed{Seed: a.Int(0)}, nil },
		value:   nothing,
	}
	// random.secret gives the bytes as an array of Ints.
	performs["random.secret"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) { return &effect.Secret{Bytes: a.Int(0)}, nil },
		value: func(r effect.Result) (value.Slot, error) {
			var ints []int64
			for _, b := range r.(*effect.SecretBytes).Bytes {
				ints = append(ints, int64(b))
			}
			return value.IntArray(ints), nil
		},
	}
}
