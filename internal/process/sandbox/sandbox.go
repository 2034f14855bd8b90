// Package sandbox describes how a process is confined (spec/21-application-tools.md): what the
// machine supports, and the plan by which the concerto program, started as `concerto host sandbox
// PLAN`, confines itself before it executes the command. Package inside implements that.
package sandbox

import "encoding/json"

// Args are the arguments that make the concerto program confine itself. A Plan follows them.
var Args = [...]string{"host", "sandbox"}

// Plan describes the restrictions of a process and the command that the process executes. The
// process can never gain privileges.
type Plan struct {
	// Files restricts access to the file system to the paths in Read and Write. The paths must be
	// absolute and must exist. A directory includes its contents.
	Files bool     `json:"files"`
	Read  []string `json:"read"` // including execution
	Write []string `json:"write"`
	// OpenFiles is the maximum number of open files per process, and FileMB the maximum size of a
	// file in MiB. 0 means no limit.
	OpenFiles uint64 `json:"open_files"`
	FileMB    uint64 `json:"file_mb"`
	// Run contains the executable and its arguments. If Run is empty, the process exits
	// successfully.
	Run []string `json:"run"`
}

// Command returns the arguments that make the concerto program execute the plan.
func (p Plan) Command() []string {
	text, err := json.Marshal(p)
	if err != nil {
		panic("sandbox: a plan is no JSON: " + err.Error())
	}
	return append(Args[:], string(text))
}

// LandlockNeeded is the oldest version of Landlock's ABI that can enforce Files. Older versions do
// not prevent a process from truncating files that it must not write.
const LandlockNeeded = 3

// Landlock returns the version of Landlock's ABI on this machine, or 0 if Landlock is not
// available.
func Landlock() int { return landlock() }

// Failed is the exit code of a process that could not confine itself or execute the command.
const Failed = 126
