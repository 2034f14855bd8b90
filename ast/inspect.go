package ast

// Inspect calls f with the node n and the nodes below it, parents first. When f
// gives false, the node's children are left out.
func Inspect(n Node, f func(Node) bool) { Walk(inspector(f), n) }

// InspectFile is Inspect over all declarations of a file.
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
