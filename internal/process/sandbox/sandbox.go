// Package sandbox describes how a process is confined (spec/21-application-tools.md): the settings
// of a sandbox, what the machine supports, and the plan by which the concerto program, started as
// `concerto host sandbox PLAN`, confines itself before it executes the command. Package inside
// implements that, and package confine starts such processes.
package sandbox

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// Settings are the keys that the sandboxes of commands and of hosts share.
type Settings struct {
	// Read and Write list files and directories. If one of the lists is not nil, the process can
	// access only the listed paths and the paths that programs need to run.
	Read       []string `json:"read"`
	Write      []string `json:"write"`       // for reading too
	CPUSeconds float64  `json:"cpu_seconds"` // of all its processes together
	MemoryMB   int64    `json:"memory_mb"`   // of all its processes together, in MiB
	FileMB     int64    `json:"file_mb"`     // size of the largest file that it may write, in MiB
	OpenFiles  int64    `json:"open_files"`  // of each process
	Processes  int64    `json:"processes"`   // at the same time
	Missing    string   `json:"missing"`     // MissingFail, MissingWarn
}

// Policies for a process whose sandbox this machine cannot enforce completely.
const (
	MissingFail = "fail" // it is not started; the default
	MissingWarn = "warn" // it runs in the sandbox that is available, with a warning
)

// RestrictsFiles reports whether the settings restrict files.
func (s *Settings) RestrictsFiles() bool { return s.Read != nil || s.Write != nil }

// Limits returns the resource limits in the settings, or nil if there are none.
func (s *Settings) Limits() *procgroup.Limits {
	l := &procgroup.Limits{MemoryMB: s.MemoryMB, CPUSeconds: s.CPUSeconds, Processes: s.Processes, OpenFiles: s.OpenFiles, FileMB: s.FileMB}
	if !l.Any() {
		return nil
	}
	return l
}

// Confinement is the sandbox of a process, with absolute paths. It can be encoded as JSON, because
// the keeper of a durable run starts processes for another process.
type Confinement struct {
	// Files restricts access to the file system to the paths in Read and Write. A directory
	// includes its contents.
	Files bool     `json:"files,omitempty"`
	Read  []string `json:"read,omitempty"` // including execution
	Write []string `json:"write,omitempty"`
	// Hidden means that the other paths, and the sockets there, do not exist for the process.
	Hidden bool `json:"hidden,omitempty"`
	// Devices means that a process that is Hidden has terminals and shared memory of its own.
	Devices bool `json:"devices,omitempty"`
	// Offline means that the process has no network except its own loopback interface. With Proxy,
	// a proxy on that interface reaches the allowed addresses.
	Offline bool   `json:"offline,omitempty"`
	Proxy   *Proxy `json:"proxy,omitempty"`
	// Loopback enables the loopback interface of a process that is Offline.
	Loopback bool `json:"loopback,omitempty"`
	// PrivateTemp means that the process has its own TMPDIR.
	PrivateTemp bool  `json:"private_temp,omitempty"`
	OpenFiles   int64 `json:"open_files,omitempty"` // of each process; 0 for no limit
	FileMB      int64 `json:"file_mb,omitempty"`    // size of a file in MiB; 0 for no limit
	// Limits are checked from outside; nil for none.
	Limits *procgroup.Limits `json:"limits,omitempty"`
}

// Proxy describes the proxy of a process.
type Proxy struct {
	Allow   []string `json:"allow"`   // addresses; see package netallow
	Section string   `json:"section"` // section of the manifest, for messages
}

// Error is the error of a process that could not be confined, and therefore was not started.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

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
	// Hide replaces the file system by one that contains only these paths. The process must have a
	// mount namespace of its own.
	Hide bool `json:"hide,omitempty"`
	// Devices adds new instances of OwnDevices and of /dev/ptmx to that file system.
	Devices bool `json:"devices,omitempty"`
	// Loopback enables the loopback interface. Proxy opens a listener there, sends it over the
	// Report, and sets the variables for proxies.
	Loopback bool `json:"loopback,omitempty"`
	Proxy    bool `json:"proxy,omitempty"`
	// Reports means that descriptor ReportFD is a socket over which the process sends the listener
	// of its proxy, and then an error message if it could not confine itself.
	Reports bool `json:"reports,omitempty"`
	// Strip removes the capabilities of the process in its namespaces.
	Strip bool `json:"strip,omitempty"`
	// OpenFiles is the maximum number of open files per process, and FileMB the maximum size of a
	// file in MiB. 0 means no limit.
	OpenFiles uint64 `json:"open_files"`
	FileMB    uint64 `json:"file_mb"`
	// Run contains the executable and its arguments. If Run is empty, the process exits
	// successfully.
	Run []string `json:"run"`
}

// OwnDevices are the directories of terminals and of shared memory.
var OwnDevices = [...]string{"/dev/pts", "/dev/shm"}

// ReportFD is the descriptor of the socket for reports.
const ReportFD = 3

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
