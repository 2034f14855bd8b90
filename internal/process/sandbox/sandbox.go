// Package sandbox says how a process is confined (spec/21-application-tools.md): what
// there is to be confined by, and the plan by which our own program, started again as
// `concerto host sandbox PLAN`, confines itself before it becomes the command. Package
// inside does so.
package sandbox

import "encoding/json"

// Args are the arguments that make the program the one that confines itself; a Plan is
// the next.
var Args = [...]string{"host", "sandbox"}

// Plan is what a process confines itself to, and what it becomes. It cannot win privileges
// in any case.
type Plan struct {
	// Files says that Read and Write are all there is of the file system: files, and
	// directories with what is in them, by absolute paths that exist.
	Files bool     `json:"files"`
	Read  []string `json:"read"` // with execution
	Write []string `json:"write"`
	// OpenFiles is how many files each process may have open, FileMB how large a file may
	// become, in MiB; 0: any.
	OpenFiles uint64 `json:"open_files"`
	FileMB    uint64 `json:"file_mb"`
	// Run is the file to execute, and its arguments; none: it ends, and all is well.
	Run []string `json:"run"`
}

// Command is the arguments by which our own program carries out the plan.
func (p Plan) Command() []string {
	text, err := json.Marshal(p)
	if err != nil {
		panic("sandbox: a plan is no JSON: " + err.Error())
	}
	return append(Args[:], string(text))
}

// LandlockNeeded is the version of Landlock's ABI that holds Files: the first that keeps a
// process from truncating what it may not write.
const LandlockNeeded = 3

// Landlock is the version of the ABI that this machine has; 0 for none.
func Landlock() int { return landlock() }

// Failed is the exit code of a process that could not confine itself, or become the command.
const Failed = 126
