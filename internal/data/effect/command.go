package effect

// KindCommand runs a command.
const KindCommand Kind = "command"

// Command runs a command without input and returns a *CommandOutput, whatever its exit code. Its
// *Error is a ToolError.
type Command struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	Timeout int64    `json:"timeout_ms"` // positive
}

// CommandOutput is what a command wrote, as UTF-8 texts, and how it ended: its
// exit code, or 128 plus the number of the signal that ended it.
type CommandOutput struct {
	ExitCode int64  `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

// Kind is KindCommand.
func (*Command) Kind() Kind { return KindCommand }
