package effect

import "encoding/json"

// The kinds of requests for workspaces (spec/42-workspaces.md). The *Error of each request is a
// GitError.
const (
	KindWorkOpen   Kind = "work.open"
	KindWorkList   Kind = "work.list"
	KindWorkDiff   Kind = "work.diff"
	KindWorkCommit Kind = "work.commit"
	KindWorkRun    Kind = "work.run"
	KindWorkRemove Kind = "work.remove"
)

// WorkOpen opens a workspace, or creates it from the revision Base; "" means that of the manifest.
// If Existing is set, the workspace must exist. It returns a *WorkspaceInfo.
type WorkOpen struct {
	Name     string `json:"name"`
	Base     string `json:"base,omitempty"`
	Existing bool   `json:"existing,omitempty"`
}

// WorkspaceInfo describes a workspace. Dir and Repo are absolute paths, Base is a commit.
type WorkspaceInfo struct {
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	Branch string `json:"branch"`
	Base   string `json:"base"`
	Repo   string `json:"repo"`
}

// WorkList returns all workspaces of the manifest, by name, as a *WorkspaceList.
type WorkList struct{}

// WorkspaceList contains workspaces.
type WorkspaceList struct {
	All []WorkspaceInfo `json:"all"`
}

// WorkDiff returns the changes of a workspace since its base as a *WorkspaceDiff.
type WorkDiff struct {
	Name string `json:"name"`
}

// WorkspaceDiff contains the JSON of a workspace.Diff.
type WorkspaceDiff struct {
	Diff json.RawMessage `json:"diff"`
}

// WorkCommit commits all uncommitted changes of a workspace and returns a *WorkCommitted. Time is
// that of the commit, in milliseconds since 1970.
type WorkCommit struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Time    int64  `json:"time_ms"`
}

// WorkCommitted contains the id of a commit; "" if there was nothing to commit.
type WorkCommitted struct {
	Commit string `json:"commit"`
}

// WorkRun runs a command in a workspace, and returns a *WorkOutput for any exit code. Timeout is in
// milliseconds.
type WorkRun struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Timeout int64    `json:"timeout_ms"`
}

// WorkOutput contains the exit code of a command and the end of its output and its errors.
type WorkOutput struct {
	ExitCode int64  `json:"exit_code"`
	Output   string `json:"output"`
}

// WorkRemove removes a workspace with its branch. Without Force, one with work that exists nowhere
// else is an error. Its result is nil.
type WorkRemove struct {
	Name  string `json:"name"`
	Force bool   `json:"force,omitempty"`
}

// Kind returns KindWorkOpen.
func (*WorkOpen) Kind() Kind { return KindWorkOpen }

// Kind returns KindWorkList.
func (*WorkList) Kind() Kind { return KindWorkList }

// Kind returns KindWorkDiff.
func (*WorkDiff) Kind() Kind { return KindWorkDiff }

// Kind returns KindWorkCommit.
func (*WorkCommit) Kind() Kind { return KindWorkCommit }

// Kind returns KindWorkRun.
func (*WorkRun) Kind() Kind { return KindWorkRun }

// Kind returns KindWorkRemove.
func (*WorkRemove) Kind() Kind { return KindWorkRemove }

// The following methods return the name of the workspace that a request uses.

func (r *WorkOpen) Workspace() string   { return r.Name }
func (r *WorkDiff) Workspace() string   { return r.Name }
func (r *WorkCommit) Workspace() string { return r.Name }
func (r *WorkRun) Workspace() string    { return r.Name }
func (r *WorkRemove) Workspace() string { return r.Name }
