package repl

import (
	"strings"

	"github.com/concerto-lang/concerto/vm"
)

// resolvePositions replaces the positions in an error by positions in the typed input.
func (s *Session) resolvePositions(e *vm.Uncaught) {
	s.move(&e.Place)
	for i := range e.Trace {
		s.move(&e.Trace[i])
	}
	for _, o := range e.Others {
		s.resolvePositions(o)
	}
}

func (s *Session) move(p *vm.Place) {
	p.Function = strings.TrimSpace(p.Function)
	if strings.HasPrefix(p.Function, sessionName) {
		p.Function = "the line"
	}
	l := s.units[p.File]
	if l == nil || p.Line < 1 {
		return
	}
	f, pos, _ := l.origin(l.file.Pos(p.Line, p.Column))
	if f == nil {
		return
	}
	to := f.Position(pos)
	p.File, p.Text, p.Line, p.Column = f.Name, f.String(), to.Line, to.Column
}
