package journal

// Copy contains a run, to move it from one store to another.
type Copy struct {
	Start   *Start
	Began   int64    // Unix milliseconds
	Last    *Record  // the last record
	Effects int64    // number of the last effect
	Records []Line   // all records of the journal
	Output  []string // lines without newlines
	Ledger  []string
	// Programs contains each program by the name of its file, Blobs the large values by their
	// SHA-256 in hex, and Answers those that the run has not received, by the ids of their
	// questions.
	Programs map[string][]byte
	Blobs    map[string][]byte
	Answers  map[string]*Answer
}

// Line is a record as it is stored, without a newline, with the number of the process that has
// written it.
type Line struct {
	Owner int64
	Text  string
}
