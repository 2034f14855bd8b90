package dap

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// constantNames returns the names of the constants that a frame's file declares.
func constantNames(f *frameRef) (names []string) {
	tree, _ := parser.Parse(source.NewFile(f.File, []byte(f.Text)))
	for _, d := range tree.Decls {
		if c, ok := d.(*ast.ConstDecl); ok {
			names = append(names, c.Name.Name)
		}
	}
	return names
}

// moduleConstants returns the constants of a frame's file.
func (r *Run) moduleConstants(ctx context.Context, f *frameRef) (all childList) {
	if f.Text == "" {
		return nil
	}
	for _, name := range constantNames(f) {
		c, err := r.compile(f, name)
		if err != nil {
			continue // a variable of the same name hides the constant
		}
		v, err := r.execute(f, c, evalOptions{quiet: true, ctx: ctx})
		if err != nil {
			continue
		}
		all = append(all, child{name: name, path: name, value: v, typ: c.result})
	}
	return all
}

// group is a scope with the declarations of a program.
type group struct {
	name string
	all  childList
}

// sharedScopes returns the scopes that all frames share.
func (d *debuggee) sharedScopes() []group {
	p := d.vm.Program()
	agents, hosts, stores := group{name: "Agents"}, group{name: "Hosts"}, group{name: "Stores"}
	for i := range p.Agents {
		agents.all = append(agents.all, child{name: p.Agents[i].Name, text: fmt.Sprintf("<agent %s>", p.Agents[i].Name), inside: d.watch.agent(p.Agents[i].Name)})
	}
	for i := range p.Hosts {
		hosts.all = append(hosts.all, child{name: p.Hosts[i].Name, text: fmt.Sprintf("<host %s>", p.Hosts[i].Name), inside: d.watch.host(p.Hosts[i].Name)})
	}
	for i, v := range d.vm.Stores() {
		stores.all = append(stores.all, child{name: p.Stores[i].Name, path: p.Stores[i].Name, value: v})
	}
	return []group{agents, hosts, stores}
}
