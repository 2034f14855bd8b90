package relay

// Structure is what a program is made of, as a graph: its pipelines, agents, hosts and tools,
// and who uses whom.
type Structure struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Node is a part. Its kind is program, pipeline, agent, host or tool.
type Node struct {
	ID   string `json:"id"` // KIND:NAME
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Edge says that a part uses another.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}
