package tool

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/toolname"
)

// ownerTest owns what a test mocks and nobody has.
const ownerTest = "test"

// errNoTest is the error of a mock outside a test.
var errNoTest = errors.New("tools are only mocked under `concerto test`")

// Mock has a test answer the calls of a tool, "x" or "x@2". The calls take their way up to
// the handler, in whose place they give their arguments. A tool that is not there is
// registered for this session, with any arguments.
func (s *Session) Mock(name string) error {
	ref, err := toolname.ParseRef(name)
	switch {
	case err != nil:
		return err
	case !s.hooks.World.Test:
		return errNoTest
	}
	s.mu.Lock()
	if s.mocked == nil {
		s.mocked = map[string]bool{}
	}
	s.mocked[name] = true
	s.mu.Unlock()
	if s.find(s.r.snapshot(), ref.Name, ref.Version) != nil {
		return nil
	}
	return s.r.As(ownerTest).In(s.base.SessionID).Register(Definition{Name: ref.Name, Version: ref.Version, Description: "A mock", Scope: PerSession,
		Handler: func(_ context.Context, input json.RawMessage, _ *Context) (Result, error) {
			return Result{Success: true, Output: input}, nil
		}})
}

// isMocked says whether the test answers in the tool's place.
func (s *Session) isMocked(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mocked[e.def.Name] || s.mocked[e.id()]
}

// unplayed says whether the session is a test's, which does not reach what the tool does.
func (s *Session) unplayed(e *entry) bool {
	return s.hooks.World.Test && !s.hooks.World.Reach && !e.def.inTests
}

// outside says whether a call in a test that is recorded has reached what the tool does.
func (c *Call) outside(e Ended) bool {
	w := c.s.hooks.World
	return w.Test && w.Reach && !c.e.def.inTests && !e.mocked
}

// played is the end of a call of a test that ends before the handler.
func (c *Call) played() (Ended, bool) {
	switch {
	case !c.s.hooks.World.Test:
		return Ended{}, false
	case c.s.isMocked(c.e):
		e := c.end(Result{Success: true, Output: c.args}, OutcomeOK, false, 0)
		e.mocked = true
		return e, true
	case c.s.unplayed(c.e):
		e := c.end(Failure("the test does not mock tool '%s'", c.name()), OutcomeUnavailable, false, 0)
		e.unplayed = true
		return e, true
	}
	return Ended{}, false
}
