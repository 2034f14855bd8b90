// Package sandbox describes how a process is confined (spec/21-application-tools.md): what the
// machine supports, and the plan by which the concerto program, started as `concerto host sandbox
// PLAN`, confines itself before it executes the command. Package inside implements that.
package sandbox

import "encoding/json"

// Args are the arguments with which the program confines itself. A Plan follows them.
var Args = [...]string{"host", "sandbox"}

// Plan describes the limits of a process and the command that it executes. The process can never
// gain privileges.
type Plan struct {
	// Files restricts the file system to Read and Write: files, and directories with their
	// contents, by absolute paths that exist.
	Files bool     `json:"files"`
	Read  []string `json:"read"` // including execution
	Write []string `json:"write"`
	// OpenFiles limits the open files of each process, and FileMB the size of a file in MiB; 0
	// means no limit.
	OpenFiles uint64 `json:"open_files"`
	FileMB    uint64 `json:"file_mb"`
	// Run is the file to execute and its arguments. If it is empty, the process exits successfully.
	Run []string `json:"run"`
}

// Command returns the arguments with which the concerto program executes the plan.
func (p Plan) Command() []string {
	text, err := json.Marshal(p)
	if err != nil {
		panic("sandbox: a plan is no JSON: " + err.Error())
	}
	return append(Args[:], string(text))
}

// LandlockNeeded is the oldest version of Landlock's ABI that can enforce Files: the first that
// prevents truncating a file that may not be written.
const LandlockNeeded = 3

// Landlock returns the version of Landlock's ABI on this machine, or 0 for none.
func Landlock() int { return landlock() }

// Failed is the exit code of a process that could not confine itself or execute the command.
const Failed = 126
