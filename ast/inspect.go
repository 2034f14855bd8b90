package ast

// Inspect calls f with the node n and all nodes below it, parents first. If f returns false,
// Inspect skips the node's children.
func Inspect(n Node, f func(Node) bool) { Walk(inspector(f), n) }

// InspectFile calls Inspect for all declarations of a file.
func InspectFile(file *File, f func(Node) bool) {
	for _, d := range file.Decls {
		Inspect(d, f)
	}
}

type inspector func(Node) bool

func (f inspector) Visit(n Node) Visitor {
	if f(n) {
		return f
	}
	return nil
}
