package sema

import (
	"sort"

	"github.com/concerto-lang/concerto/internal/compile/types"
)

// Dynamic is a method that a call on an Any may reach: any value of Type with
// that Name.
type Dynamic struct {
	Name string
	Type types.Type
	Fn   *Function
}

// noteDynamic lists a method once.
func (p *Program) noteDynamic(name string, t types.Type, fn *Function) {
	for _, d := range p.Dynamic {
		if d.Fn == fn && d.Name == name && types.Identical(d.Type, t) {
			return
		}
	}
	p.Dynamic = append(p.Dynamic, Dynamic{name, t, fn})
	sort.SliceStable(p.Dynamic, func(i, j int) bool {
		a, b := p.Dynamic[i], p.Dynamic[j]
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.Type.String() < b.Type.String()
	})
}
