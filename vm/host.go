package vm

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Host is a host declaration with those keys of its section that the loop of a
// listen reads; the performer reads the others.
type Host struct {
	*ir.Host
	Instances       int
	QuestionTimeout float64                    // seconds; 0 is none
	Assumed         []string                   // keys that the manifest does not have: what they are is usual
	Told            bool                       // it is told which tools there are, as all are that do not speak our protocol
	MayAsk          bool                       // it may announce that it is to be told
	Defaults        map[string]json.RawMessage // what answers unhandled messages, by hostmsg.Message.Default
}

// loadHosts reads the sections of the hosts beyond those that there are.
func (m *loader) loadHosts() error {
	for i := len(m.hostDecls); i < len(m.program.Hosts); i++ {
		h := &m.program.Hosts[i]
		d := Host{Host: h}
		if len(h.Config) > 0 {
			if err := d.read(); err != nil {
				return fmt.Errorf("load host %s: %w", h.Name, err)
			}
		}
		m.hostDecls = append(m.hostDecls, d)
	}
	return nil
}

func (d *Host) read() error {
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(d.Config, &keys); err != nil {
		return err
	}
	for key, to := range map[string]any{"instances": &d.Instances, "question_timeout": &d.QuestionTimeout, "assumed": &d.Assumed} {
		if v, given := keys[key]; given {
			if err := json.Unmarshal(v, to); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	var transport string
	if v, given := keys["transport"]; given {
		if err := json.Unmarshal(v, &transport); err != nil {
			return fmt.Errorf("transport: %w", err)
		}
	}
	_, init := keys["init"]
	_, variables := keys["params_env"]
	d.Told = transport != "" && transport != "stdio" || string(keys["send_tools"]) == "true"
	d.MayAsk = init || variables || len(d.Params) > 0
	d.Defaults = map[string]json.RawMessage{}
	for _, m := range hostmsg.Messages() {
		if v, given := keys[m.Default]; given && m.Default != "" {
			d.Defaults[m.Default] = v
		}
	}
	return nil
}

// fallback gives the declared default answer to a message.
func (d *Host) fallback(row *hostmsg.Message) (json.RawMessage, bool) {
	answer, ok := d.Defaults[row.Default]
	return answer, ok
}

// tooLate is the answer to a message that nobody has answered in time: the default,
// or what the host is told instead.
func (d *Host) tooLate(typ string) (answer json.RawMessage, problem string) {
	answer, ok := d.fallback(hostmsg.Of(typ))
	if !ok {
		problem = typ + " timed out after " + seconds(d.QuestionTimeout)
	}
	return answer, problem
}

// openingOf makes the request for an exchange with a host, as its builders want it.
func (m *VM) openingOf(d *Host, host value.Slot, prompt string) *effect.ExchangeOpen {
	r := &effect.ExchangeOpen{Host: d.Name, Prompt: prompt}
	f := host.Party()
	if c := f[value.PartyContext]; !c.IsNil() {
		r.Context = value.AppendJSON(nil, c)
	}
	if x := f[value.PartySchema]; !x.IsNil() {
		r.Schema = json.RawMessage(x.AsString())
	}
	if name := f[value.PartySession]; !name.IsNil() {
		r.Session = name.AsString()
	}
	r.Tools = m.toolsFor(d, host)
	if (d.Told || d.MayAsk) && m.config.Application.Tools {
		r.Application = &effect.AppList{Only: d.AppTools}
		for _, own := range r.Tools {
			r.Application.Taken = append(r.Application.Taken, own.Name)
		}
		if f[value.PartyToolsOff].AsBool() {
			r.Application.Only = &[]string{}
		}
	}
	return r
}

// toolsFor are the tools that a host is told of.
func (m *VM) toolsFor(d *Host, host value.Slot) []effect.ToolSpec {
	if !d.Told && !d.MayAsk {
		return nil
	}
	tools := m.toolsOf(host, &m.pace)
	if tools.Array().Len == 0 {
		return nil
	}
	return Specs(m.offered(tools, &m.pace))
}
