package client

// Structure describes a program as a graph of its pipelines, stages, agents, hosts and tools. A
// pipeline has an edge to its first stage, and each stage has an edge to the next stage.
type Structure struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
}

// Node is a part of a program. Kind is program, pipeline, stage, agent, host or tool.
type Node struct {
	ID   string `json:"id"` // KIND:NAME; stage:PIPELINE.NAME
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Edge states that one part of a program uses another part.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}
