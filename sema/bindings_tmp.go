package sema

import "github.com/concerto-lang/concerto/internal/compile/types"

func bindings(params []*types.Param, args []types.Type) map[*types.Param]types.Type {
	m := make(map[*types.Param]types.Type, len(params))
	for i, p := range params {
		m[p] = args[i]
	}
	return m
}
