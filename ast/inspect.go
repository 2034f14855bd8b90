package ast

// Inspect shows f the node n and the nodes below, parents first; where f
// gives false, a node's children are left out.
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
