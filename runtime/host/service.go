package host

import (
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/service"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// serviceOptions returns the options of the service that performs the agent's requests.
func (p *process) serviceOptions() service.Options {
	own := &terminalhost.Set{Name: p.cfg.Name, Start: p.startCommand, Stop: p.hosts.kill}
	return service.Options{
		Answer:    p.answerRequest,
		IsFull:    func() bool { return p.out.isFull() },
		Room:      func() <-chan struct{} { return p.out.requestSpace },
		MayAccess: func(path string, write bool) error { return mayAccess(p, path, write) },
		Resolve:   func(path string) (string, bool) { return p.rules.Resolve(path) },
		Terminals: func() service.Terminals {
			if p.keeper.conn != nil {
				return p.keeper.conn.Terminals()
			}
			return own
		},
		Dir: p.cfg.Dir,
		Environ: func() []string {
			env, _ := p.cfg.buildEnviron(p.hosts.opts.Environ, p.number)
			return env
		},
		Limits: p.cfg.Bounds.process(),
	}
}

// answerRequest sends the answer to an agent's request.
func (p *process) answerRequest(e *adapter.Request, answer []byte) {
	p.out.enqueueLine(line{short: adapter.JoinLines([][]byte{answer}), frame: lineFrame{kind: keeper.KindDirect, lastLine: e.LastLine, note: &lineNote{Request: e.Number}}}, true)
}
