package runtime

import (
	"context"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/world/command"
)

// tokenTimeout is the maximum run time of a connection's token_command, in milliseconds.
const tokenTimeout = 60_000

// printed returns a function that runs a command of the manifest and returns the command's output.
func printed(runner *command.Runner) func(context.Context, []string) (string, error) {
	return func(ctx context.Context, line []string) (string, error) {
		result, err := runner.Perform(ctx, &effect.Command{Command: line[0], Args: line[1:], Timeout: tokenTimeout})
		if err != nil {
			return "", err
		}
		out := result.(*effect.CommandOutput)
		if out.ExitCode != 0 {
			message, _, _ := strings.Cut(strings.TrimSpace(out.Stderr), "\n")
			return "", fmt.Errorf("exit code %d: %s", out.ExitCode, message)
		}
		return out.Stdout, nil
	}
}
