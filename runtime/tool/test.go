package tool

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/toolname"
)

// ownerTest is the owner of tools that exist only because a test mocks them.
const ownerTest = "test"

// errNoTest is the error of Mock outside a test.
var errNoTest = errors.New("tools are only mocked under `concerto test`")

// Mock makes a test answer the calls of the tool "x" or "x@2". Such a call performs all steps up to
// the handler, and then returns its arguments to the test. A tool that does not exist is registered
// for this session and accepts any arguments.
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
	if s.findEntry(s.r.snapshot(), ref.Name, ref.Version) != nil {
		return nil
	}
	return s.r.As(ownerTest).In(s.base.SessionID).Register(Definition{Name: ref.Name, Version: ref.Version, Description: "A mock", Scope: PerSession,
		Handler: func(_ context.Context, input json.RawMessage, _ *Context) (Result, error) {
			return Result{Success: true, Output: input}, nil
		}})
}

// isMocked reports whether the test answers the calls of the tool.
func (s *Session) isMocked(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mocked[e.def.Name] || s.mocked[e.id()]
}

// unplayed reports whether the session belongs to a test that must not call this tool, because the
// tool may have effects outside the process.
func (s *Session) unplayed(e *entry) bool {
	return s.hooks.World.Test && !s.hooks.World.Reach && !e.def.inTests
}

// outside reports whether the call, in a test that is being recorded, had effects outside the
// process.
func (c *Call) outside(e Ended) bool {
	w := c.s.hooks.World
	return w.Test && w.Reach && !c.e.def.inTests && !e.mocked
}

// endInTest returns the end of a call that a test ends before the handler.
func (c *Call) endInTest() (Ended, bool) {
	switch {
	case !c.s.hooks.World.Test:
		return Ended{}, false
	case c.s.isMocked(c.e):
		e := c.endWith(Result{Success: true, Output: c.args}, OutcomeOK, false, 0)
		e.mocked = true
		return e, true
	case c.s.unplayed(c.e):
		e := c.endWith(Failure("the test has no mock of tool '%s'", c.qualifiedName()), OutcomeUnavailable, false, 0)
		e.unplayed = true
		return e, true
	}
	return Ended{}, false
}
