package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// Relay shows a run to people on other devices, and lets them answer questions. The command
// implements it with the hostd process of this machine.
type Relay interface{ follower }

type follower interface {
	emit.Elsewhere
	// Begin reports the start of the program. It is called after Located.
	Begin(id string, structure json.RawMessage, secrets client.Secrets, used func() protocol.Usage)
	Located(file string, line int)
	// Steers sets the function that sends a message of a user to a host of the run.
	Steers(func(protocol.Steering) error)
	// Sink returns what receives the events of the run.
	Sink() event.Sink
}

// Sharing returns the manifest's settings for the relay: whether runs are shown on the relay, and
// their title.
func (p *Program) Sharing() (share bool, title string) {
	if p.manifest == nil {
		return false, p.ir.Name
	}
	if title = p.manifest.Relay.Title; title == "" {
		title = p.ir.Name
	}
	return p.manifest.Relay.Share, title
}

// steerFromRelay sends a message of a user to a host of the run.
func steerFromRelay(world *runtime.Runtime, m protocol.Steering) error {
	_, _, err := world.Hosts().Steer(context.Background(), host.Message{Key: "relay-" + m.ID, Host: m.Host, Workspace: m.Workspace, Text: m.Text, By: effect.ByRelay, Name: m.By})
	selected, ok := errors.AsType[*host.SelectError](err)
	if !ok {
		return err
	}
	if len(selected.Running) == 0 {
		return errors.New("no such host of the run is running")
	}
	var names []string
	for _, x := range selected.Running {
		names = append(names, strings.TrimSpace(x.Host+" "+x.Workspace))
	}
	return fmt.Errorf("%d hosts of the run are running: %s", len(names), strings.Join(names, ", "))
}

// relayed calls the relay's methods for the start of the run.
func (p *Program) relayed(r Relay, world *runtime.Runtime) {
	r.Steers(func(m protocol.Steering) error { return steerFromRelay(world, m) })
	var structure json.RawMessage
	if g, err := p.Graph(); err == nil { // IR of an earlier version has no graph
		structure = g.Placed()
	}
	r.Begin(world.ID(), structure, world.Secrets(), func() protocol.Usage {
		all := world.Used()
		return protocol.Usage{TokensIn: all.TokensIn, TokensOut: all.TokensOut, CostUSD: budget.Money(all.Cost).USD()}
	})
}
