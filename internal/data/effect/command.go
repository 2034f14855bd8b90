package effect

// KindCommand is the kind of Command.
const KindCommand Kind = "command"

// Command runs a command without input. It returns a *CommandOutput for any exit code. Its *Error
// is a ToolError.
type Command struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	Timeout int64    `json:"timeout_ms"` // in milliseconds; positive
}

// CommandOutput contains the output of a command as UTF-8 texts, and its exit code. For a command
// that a signal has stopped, the exit code is 128 plus the number of the signal.
type CommandOutput struct {
	ExitCode int64  `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

// Kind returns KindCommand.
func (*Command) Kind() Kind { return KindCommand }
