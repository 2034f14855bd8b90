package client

// Structure is what a program is made of, as a graph: its pipelines with their stages, agents, hosts and
// tools, and who uses whom. A pipeline leads to its first stage, and each stage to the next.
type Structure struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Node is a part. Its kind is program, pipeline, stage, agent, host or tool.
type Node struct {
	ID   string `json:"id"` // KIND:NAME; stage:PIPELINE.NAME
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Edge says that a part uses another.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}
