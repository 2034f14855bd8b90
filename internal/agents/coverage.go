package agents

// Coverage counts the messages of an installed agent by what Concerto does with them.
type Coverage struct {
	Handled int      `json:"handled"`
	Quiet   int      `json:"quiet"`
	Refused int      `json:"refused"`
	Missing []string `json:"missing"`
}
