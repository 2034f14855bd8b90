package mock

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Outside refuses, outside tests, the requests that only tests may make, with an error that the
// program can catch.
var Outside effect.Performer = effect.PerformerFunc(func(context.Context, effect.Request) (effect.Result, error) {
	return nil, effect.Errorf("RuntimeError", "this is no test: mocks and the record of a test are there only under `concerto test`")
})
