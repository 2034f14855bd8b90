package effect

// KindHostTasks is the kind of HostTasks.
const KindHostTasks Kind = "host.tasks"

// HostTasks lists the background tasks of a host's processes, as *HostTaskList. With Settle, it
// waits until none has not ended, and lists those that have ended in the meantime; after Seconds,
// if they are not 0, it fails with the code "timeout".
type HostTasks struct {
	Host string `json:"host"`
	// Workspace and Session select the processes that work there; "" means any.
	Workspace string  `json:"workspace,omitempty"`
	Session   string  `json:"session,omitempty"`
	Settle    bool    `json:"settle,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`
}

// HostTaskList is the result of HostTasks.
type HostTaskList struct {
	Tasks []HostTask `json:"tasks"`
}

// Kind returns KindHostTasks.
func (*HostTasks) Kind() Kind { return KindHostTasks }

// HostTask is a background task of a host: work that its turn does not wait for.
type HostTask struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"` // "agent", "workflow", "command", "watcher", or the agent's own text
	Name    string `json:"name"`
	State   string `json:"state"`             // one of the constants below
	Parent  string `json:"parent,omitempty"`  // ID of the task that has started it; "" for the host's own turn
	Summary string `json:"summary,omitempty"` // what the agent reports about its end
}

// States of a task.
const (
	TaskRunning   = "running"
	TaskCompleted = "completed"
	TaskFailed    = "failed"
	TaskStopped   = "stopped"
	TaskLost      = "lost" // its process has ended
)
