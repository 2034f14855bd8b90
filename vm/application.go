package vm

import "github.com/concerto-lang/concerto/internal/value"

// Application gives the run's id when the run has an application that may have tools;
// else "".
func (a *Args) Application() string { return a.run().config.Application }

// NextEffect is the number of the next effect that the run makes, from 1.
func (a *Args) NextEffect() int64 { return a.run().stats.Requests + 1 }

// AppTools gives which of the application's tools argument i, an agent, a host or nil,
// may call: filters, or nil for all.
func (a *Args) AppTools(i int) *[]string {
	s := a.Slot(i)
	p := s.Party()
	switch {
	case p == nil:
		return nil
	case p[value.PartyToolsOff].AsBool():
		return &[]string{}
	case s.Kind() == value.KindAgent:
		return a.Agent(i).AppTools
	}
	return a.Host(i).AppTools
}
