package protocol

import "encoding/json"

// The data and results of RPCs. Each RPC has a request_id, which the response and repetitions of
// the request contain, too.

// ReadFile is the data of rpc.fs.read.
type ReadFile struct {
	RequestID string `json:"request_id" is:"required id"`
	Path      string `json:"path" is:"required" doc:"relative to the run's directory; a path of more than 4,096 bytes is refused with out_of_scope"`
	Offset    *int64 `json:"offset,omitempty" is:"from=0 to=9007199254740991"`
	Limit     *int64 `json:"limit,omitempty" is:"from=1 to=9007199254740991" doc:"in bytes; default and maximum 1 MiB"`
}

// ReadFileResult is the result of rpc.fs.read.
type ReadFileResult struct {
	Path      string `json:"path"`
	Content   string `json:"content"`
	Truncated bool   `json:"truncated"`
	Size      int64  `json:"size" doc:"of the file, in bytes"`
	SHA256    string `json:"sha256" doc:"of the file"`
}

// ListDir is the data of rpc.fs.list.
type ListDir struct {
	RequestID string `json:"request_id" is:"required id"`
	Path      string `json:"path,omitempty" doc:"default ."`
}

// ListDirResult is the result of rpc.fs.list.
type ListDirResult struct {
	Path      string  `json:"path"`
	Entries   []Entry `json:"entries" is:"items=500" doc:"sorted by name"`
	Truncated bool    `json:"truncated"`
}

// Entry is a directory entry.
type Entry struct {
	Name      string `json:"name"`
	IsDir     bool   `json:"is_dir"`
	SizeBytes *int64 `json:"size_bytes" doc:"for a regular file"`
	IsLink    bool   `json:"is_link,omitempty"`
}

// Search is the data of rpc.fs.search.
type Search struct {
	RequestID string `json:"request_id" is:"required id"`
	Q         string `json:"q" is:"required chars=1000" doc:"a pattern of ripgrep"`
}

// SearchResult is the result of rpc.fs.search.
type SearchResult struct {
	Matches   []Match `json:"matches" is:"items=200"`
	Truncated bool    `json:"truncated"`
}

// Match is a line that matches a search.
type Match struct {
	Path   string `json:"path"`
	Line   int64  `json:"line"`
	Column int64  `json:"column"`
	Text   string `json:"text" is:"chars=500"`
}

// WriteFile is the data of rpc.fs.write.
type WriteFile struct {
	RequestID  string `json:"request_id" is:"required id"`
	Path       string `json:"path" is:"required"`
	Content    string `json:"content" is:"required" doc:"at most 1 MiB: a longer one is refused with too_large, never truncated"`
	BaseSHA256 string `json:"base_sha256,omitempty" is:"sha256" doc:"of the file to replace"`
	Mkdirs     bool   `json:"mkdirs,omitempty"`
	Actor      string `json:"actor,omitempty" is:"enum=web|cli|system"`
}

// WriteFileResult is the result of rpc.fs.write.
type WriteFileResult struct {
	Path         string `json:"path"`
	BytesWritten int64  `json:"bytes_written"`
	SHA256       string `json:"sha256"`
	Truncated    bool   `json:"truncated" doc:"always false"`
}

// Bash is the data of rpc.bash.
type Bash struct {
	RequestID string `json:"request_id" is:"required id"`
	Cmd       string `json:"cmd" is:"required bytes=65536"`
	TimeoutS  *int64 `json:"timeout_s,omitempty" is:"from=1 to=600" doc:"default 120"`
	Actor     string `json:"actor,omitempty" is:"enum=web|cli|system"`
}

// BashResult is the result of rpc.bash.
type BashResult struct {
	Stdout    string `json:"stdout" is:"bytes=200000"`
	Stderr    string `json:"stderr" is:"bytes=200000"`
	ExitCode  int64  `json:"exit_code"`
	Truncated bool   `json:"truncated"`
	TimedOut  bool   `json:"timed_out"`
}

// Git is the data of rpc.git.status and rpc.git.diff.
type Git struct {
	RequestID string `json:"request_id" is:"required id"`
	Path      string `json:"path,omitempty"`
}

// GitResult is the result of rpc.git.status and rpc.git.diff.
type GitResult struct {
	Stdout    string `json:"stdout" is:"bytes=400000"`
	Truncated bool   `json:"truncated"`
}

// StartRun is the data of rpc.run.start.
type StartRun struct {
	RequestID string `json:"request_id" is:"required id"`
	MachineID string `json:"host_id" is:"required id"`
	Tool      string `json:"tool" is:"required chars=64"`
	Cmd       string `json:"cmd" is:"required bytes=65536" doc:"executed by bash -lc; if empty, the tool itself is executed"`
	Cwd       string `json:"cwd,omitempty" is:"bytes=4096" doc:"below a root of the machine; by default (also null) the first root"`
	Title     string `json:"title,omitempty" is:"chars=200"`
	Cols      *int64 `json:"cols,omitempty" is:"from=1 to=1000"`
	Rows      *int64 `json:"rows,omitempty" is:"from=1 to=1000"`
}

// StartRunResult is the result of rpc.run.start. The envelope of the response also names the run.
type StartRunResult struct {
	RunID string `json:"run_id"`
}

// StopRun is the data of rpc.run.stop.
type StopRun struct {
	RequestID string `json:"request_id" is:"required id"`
	Signal    string `json:"signal,omitempty" is:"enum=term|kill" doc:"default term"`
	Actor     string `json:"actor,omitempty" is:"enum=web|cli|system"`
}

// StopRunResult is the result of rpc.run.stop.
type StopRunResult struct {
	Signal string `json:"signal"`
}

// MachineRequest is the data of RPCs whose only parameter is a machine.
type MachineRequest struct {
	RequestID string `json:"request_id" is:"required id"`
	MachineID string `json:"host_id" is:"required id"`
}

// ListRuns is the data of rpc.runs.list. Without a machine, the request is sent to the machine of
// the run that the envelope names.
type ListRuns struct {
	RequestID string `json:"request_id" is:"required id"`
	MachineID string `json:"host_id,omitempty" is:"id"`
}

// ListRunsResult is the result of rpc.runs.list.
type ListRunsResult struct {
	Runs []RunSummary `json:"runs"`
}

// RunSummary describes a run of a machine.
type RunSummary struct {
	RunID     string `json:"run_id"`
	Tool      string `json:"tool"`
	Cwd       string `json:"cwd"`
	Command   string `json:"command"`
	Status    Status `json:"status"`
	StartedAt string `json:"started_at"`
	Title     string `json:"title,omitempty"`
}

// MachineInfo is the result of rpc.host.info.
type MachineInfo struct {
	MachineID string     `json:"host_id"`
	PID       int64      `json:"pid"`
	OS        string     `json:"os"`
	Arch      string     `json:"arch"`
	Version   string     `json:"version"`
	Tools     []ToolInfo `json:"tools"`
	SealInfo
}

// SealInfo describes the account of a machine. It is empty if the machine has none.
type SealInfo struct {
	Account string          `json:"account,omitempty" doc:"the machine's account"`
	Fresh   string          `json:"fresh,omitempty" doc:"a token of the machine's time, for statements"`
	Roster  *RosterPosition `json:"roster,omitempty" doc:"the last line of the machine's roster"`
	Beat    json.RawMessage `json:"beat,omitempty" is:"object" doc:"the ends of the runs, signed, if the machine seals their events"`
}

// ToolInfo describes a tool and whether it is installed.
type ToolInfo struct {
	Tool string `json:"tool"`
	Bin  string `json:"bin"`
	OK   bool   `json:"ok"`
}

// MachineDoctor is the result of rpc.host.doctor.
type MachineDoctor struct {
	MachineInfo
	Deps []Dep `json:"deps"`
}

// Dep is a dependency of a machine.
type Dep struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// MachineCapabilities is the result of rpc.host.capabilities.
type MachineCapabilities struct {
	MachineDoctor
	SupportedRPC []string        `json:"supported_rpc"`
	Features     []string        `json:"features"`
	Limits       json.RawMessage `json:"limits"`
	LocalSocket  string          `json:"local_socket"`
}

// TailLog is the data of rpc.host.logs.tail.
type TailLog struct {
	RequestID string `json:"request_id" is:"required id"`
	MachineID string `json:"host_id" is:"required id"`
	Lines     *int64 `json:"lines,omitempty" is:"from=1 to=2000" doc:"default 200"`
	MaxBytes  *int64 `json:"max_bytes,omitempty" is:"from=1 to=2000000" doc:"default 200,000"`
}

// LogTail is the result of rpc.host.logs.tail.
type LogTail struct {
	Path      string `json:"path"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}
