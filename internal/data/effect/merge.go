package effect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The kinds of requests for merges (spec/43-merging.md). A MergeOpen begins to merge, a MergeNext
// returns the next event, and a MergeReply answers one. The *Error of each request is a GitError, a
// MergeConflict or a GateFailed.
const (
	KindMergeFind   Kind = "merge.find"
	KindMergeSubmit Kind = "merge.submit"
	KindMergeList   Kind = "merge.list"
	KindMergeFinish Kind = "merge.finish"
	KindMergeOpen   Kind = "merge.open"
	KindMergeNext   Kind = "merge.next"
	KindMergeReply  Kind = "merge.reply"
	KindMergeClose  Kind = "merge.close"
)

// MergeFind returns the queue of [merge.X] in the manifest as a *MergeQueueInfo.
type MergeFind struct {
	Queue string `json:"queue"`
}

// MergeQueueInfo describes a merge queue. Into is a branch.
type MergeQueueInfo struct {
	Name string `json:"name"`
	Into string `json:"into"`
}

// MergeSubmit submits the current commit of a workspace, and returns a *MergeSubmitted. Submitting
// the same commit again does nothing.
type MergeSubmit struct {
	Queue    string   `json:"queue"`
	Name     string   `json:"workspace"`
	ID       string   `json:"id,omitempty"`    // "" for the workspace's name
	Title    string   `json:"title,omitempty"` // "" for the subject of the last commit
	After    []string `json:"after,omitempty"`
	Priority int64    `json:"priority,omitempty"`
}

// MergeSubmitted contains the id of a change.
type MergeSubmitted struct {
	ID string `json:"id"`
}

// MergeList returns the changes of a queue as *MergeChanges.
type MergeList struct {
	Queue string `json:"queue"`
}

// MergeChanges contains an array of merge.Change as JSON.
type MergeChanges struct {
	Changes json.RawMessage `json:"changes"`
}

// MergeFinish makes a run of a queue that watches it end when nothing is left to try. Its result is
// nil.
type MergeFinish struct {
	Queue string `json:"queue"`
}

// MergeOpen begins to merge the changes of a queue, or one workspace into a branch. It returns
// *MergeOpened at once; the first MergeNext reports errors. After an interruption it continues.
type MergeOpen struct {
	Queue   string `json:"queue,omitempty"`
	Resolve bool   `json:"resolve,omitempty"` // problems are events
	Watch   bool   `json:"watch,omitempty"`   // until MergeFinish

	Name  string `json:"workspace,omitempty"`
	Into  string `json:"into,omitempty"`
	Title string `json:"title,omitempty"`
	Gate  bool   `json:"gate,omitempty"` // the gate is an event; otherwise that of the manifest is used
	Time  int64  `json:"time_ms,omitempty"`
}

// MergeOpened contains the number by which later requests identify the merge.
type MergeOpened struct {
	ID int64 `json:"id"`
}

// MergeNext waits for the next event, and returns it as a *MergeEvent. Its *Error ends the merge.
type MergeNext struct {
	ID int64 `json:"id"`
}

// Kinds of events that the program does not receive as they are.
const (
	MergeEnd      = "end"      // the last event
	MergeProgress = "progress" // the state of a queue
)

// QueueState is the state of a merge queue, as Data of MergeProgress. A gate tests the first Tested
// changes of a batch of Batch changes; both are 0 between gates.
type QueueState struct {
	Queued int `json:"queued"`
	Tested int `json:"tested"`
	Batch  int `json:"batch"`
	Merged int `json:"merged"`
	Failed int `json:"failed"`
}

// String describes the state: "12 queued · gate 3 of 8 · 41 merged · 2 failed".
func (s QueueState) String() string {
	parts := []string{fmt.Sprintf("%d queued", s.Queued)}
	if s.Batch > 0 {
		parts = append(parts, fmt.Sprintf("gate %d of %d", s.Tested, s.Batch))
	}
	return strings.Join(append(parts, fmt.Sprintf("%d merged", s.Merged), fmt.Sprintf("%d failed", s.Failed)), " · ")
}

// The channels of a merge's emits.
const (
	ChannelGate   = "merge:gate"
	ChannelLanded = "merge:landed"
	ChannelFailed = "merge:failed"
)

// MergeEvent is an event of a merge. Data of "gate" is a WorkspaceInfo, and of "problem" a
// merge.Problem as JSON: a MergeReply with the same Number answers them. Data of "emit" is the
// payload for Channel. An event with the same Key as an earlier one repeats it after an
// interruption. Data of MergeEnd is a merge.Report or a merge.Result.
type MergeEvent struct {
	Kind    string          `json:"kind"`
	Number  int64           `json:"number,omitempty"`
	Channel string          `json:"channel,omitempty"`
	Key     string          `json:"key,omitempty"`
	Data    json.RawMessage `json:"data"`
}

// MergeReply answers an event: whether the gate has passed or the problem is resolved. Message is
// the error that the program's function returned.
type MergeReply struct {
	ID      int64  `json:"id"`
	Answer  int64  `json:"number"`
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"`
}

// MergeClose stops a merge that has not ended. The next one finishes changes that were landing.
type MergeClose struct {
	ID int64 `json:"id"`
}

// Kind returns KindMergeFind.
func (*MergeFind) Kind() Kind { return KindMergeFind }

// Kind returns KindMergeSubmit.
func (*MergeSubmit) Kind() Kind { return KindMergeSubmit }

// Kind returns KindMergeList.
func (*MergeList) Kind() Kind { return KindMergeList }

// Kind returns KindMergeFinish.
func (*MergeFinish) Kind() Kind { return KindMergeFinish }

// Kind returns KindMergeOpen.
func (*MergeOpen) Kind() Kind { return KindMergeOpen }

// Kind returns KindMergeNext.
func (*MergeNext) Kind() Kind { return KindMergeNext }

// Kind returns KindMergeReply.
func (*MergeReply) Kind() Kind { return KindMergeReply }

// Kind returns KindMergeClose.
func (*MergeClose) Kind() Kind { return KindMergeClose }

// The following methods return the number of a merge.

func (r *MergeOpened) Number() *int64 { return &r.ID }
func (r *MergeNext) Number() *int64   { return &r.ID }
func (r *MergeReply) Number() *int64  { return &r.ID }
func (r *MergeClose) Number() *int64  { return &r.ID }

// The following methods return the name of the workspace or of the queue that a request uses.

func (r *MergeFind) Workspace() string   { return r.Queue }
func (r *MergeSubmit) Workspace() string { return r.Name }
func (r *MergeList) Workspace() string   { return r.Queue }
func (r *MergeFinish) Workspace() string { return r.Queue }
func (r *MergeOpen) Workspace() string   { return r.Queue + r.Name }
