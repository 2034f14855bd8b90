package vm

import (
	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/value"
)

// Fresh gives a VM for another run of the same program: what was loaded is
// shared, what a run changes is new. The two must not run at the same time,
// since the strings of constants fill in what they know of themselves lazily.
func (m *VM) Fresh(p effect.Performer, choose func([]effect.Request) int) (*VM, error) {
	config := m.config
	config.Performer, config.Choose = p, choose
	f := newVM(config)
	f.code, f.origin, f.blocks, f.constants = m.code, m.origin, m.blocks, m.constants
	f.functions, f.closures, f.performing, f.methods = m.functions, m.closures, m.performing, m.methods
	f.types, f.typeDescs, f.cover = m.types, m.typeDescs, m.cover
	if err := f.loadNatives(); err != nil { // those that read declarations belong to one VM
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
