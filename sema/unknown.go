package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// policies are the decorators that say what becomes of effects of which it is not known whether
// they were done: `@on_unknown("…")`, and `@idempotent`, which is `@on_unknown("retry")`.
var policies = map[string]bool{"on_unknown": true, "idempotent": true}

// marked is where they stand.
const marked = "functions, functions of tools and of MCP servers, agents and hosts"

// onUnknowns are what `@on_unknown` may say.
var onUnknowns = []string{"retry", "fail", "ask"}

// policyOf is the first of them; nil without one.
func policyOf(ds []*ast.Decorator) *ast.Decorator {
	if i := slices.IndexFunc(ds, func(d *ast.Decorator) bool { return policies[d.Name.Name] }); i >= 0 {
		return ds[i]
	}
	return nil
}

// withoutPolicy are the other decorators.
func withoutPolicy(ds []*ast.Decorator) []*ast.Decorator {
	return slices.DeleteFunc(slices.Clone(ds), func(d *ast.Decorator) bool { return policies[d.Name.Name] })
}

// onUnknown reads what decorators say of such effects; "" for nothing, or for a mistake.
func (c *checker) onUnknown(m *module, ds []*ast.Decorator) string {
	first := policyOf(ds)
	if first == nil {
		return ""
	}
	for _, d := range ds {
		if policies[d.Name.Name] && d != first {
			c.report(m, diag.DecoratorPlace.At(d.Sp, "`@%s` says once more what becomes of what may have been done", d.Name.Name).
				Label(first.Sp, "said here").Hint("remove one of them"))
		}
	}
	if first.Name.Name == "idempotent" {
		c.noArguments(m, first)
		return "retry"
	}
	policy, ok := decoratorText(first, 0)
	switch {
	case !ok || len(first.Args) != 1 || first.Args[0].Name != nil:
		c.report(m, diag.DecoratorArgument.At(first.Sp, "`@on_unknown` takes what becomes of what may have been done").
			Hint("write `@on_unknown(\"retry\")`, \"fail\" or \"ask\""))
	case !slices.Contains(onUnknowns, policy):
		e := diag.DecoratorArgument.At(first.Args[0].Sp, "`@on_unknown` knows no %q", policy)
		if near := suggest.Nearest(policy, onUnknowns); near != "" {
			c.report(m, e.Hint("did you mean %q?", near))
		} else {
			c.report(m, e.Hint("it is \"retry\", \"fail\" or \"ask\""))
		}
	default:
		return policy
	}
	return ""
}
