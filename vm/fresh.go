package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// Fresh gives a VM for another run of the same program: they share the image,
// what a run changes is new. The two must not run at the same time, since the
// strings of constants fill in what they know of themselves lazily.
func (m *VM) Fresh(p effect.Performer, choose func([]effect.Request) int) (*VM, error) {
	config := m.config
	config.Performer, config.Choose = p, choose
	f := newVM(config, m.image)
	if err := f.loadNatives(); err != nil {
		return nil, err
	}
	f.loadDeclarations()
	for _, old := range m.tools {
		f.tools = append(f.tools, old.fresh())
	}
	return f, nil
}

// fresh gives the tool with a state of its own, not yet computed.
func (x *tool) fresh() *tool {
	typ := x.self.Type()
	c := &tool{info: x.info, self: value.New(value.KindTool, 0, typ, make([]value.Slot, len(typ.Fields))...)}
	for _, m := range x.methods {
		m.tool = c
		c.methods = append(c.methods, m)
	}
	return c
}
