package engine

import (
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/client/program"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// Relay tells people elsewhere what a run does, and has them answer: the command makes one of
// this machine's hostd.
type Relay interface{ follower }

type follower interface {
	emit.Elsewhere
	// Begins tells that the program begins, Located where it is.
	Begins(id string, structure *client.Structure, secrets client.Secrets, used func() protocol.Usage)
	Located(file string, line int)
	// Requested hears of what passes between the program, its hosts and its agents.
	program.Hears
}

// Sharing is what the program's manifest says of the relay: whether its runs are told of
// there, and by which title.
func (p *Program) Sharing() (share bool, title string) {
	if p.manifest == nil {
		return false, p.ir.Name
	}
	if title = p.manifest.Relay.Title; title == "" {
		title = p.ir.Name
	}
	return p.manifest.Relay.Share, title
}

// relayed tells the relay what begins to run.
func (p *Program) relayed(r Relay, world *runtime.Runtime) {
	r.Begins(world.ID(), program.StructureOf(p.ir), world.Secrets(), func() protocol.Usage {
		_, all := world.Usage()
		return protocol.Usage{TokensIn: all.TokensIn, TokensOut: all.TokensOut, CostUSD: all.Cost.USD()}
	})
}
