package runner

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// fromStdin is the argument for a task on standard input.
const fromStdin = "-"

// task is the task of the command line, for a main with the parameter task.
type task struct {
	text   string // in the place of PATH; "" if there is none
	piped  string // read from standard input
	isRead bool   // standard input was read, which a repeated run cannot do again
}

// readTask returns the path of the program and its arguments. A path that does not exist and
// contains a space is the task of the project in the working directory.
func (cmd *runCommand) readTask(path string, args []string) (string, []string, error) {
	ext := filepath.Ext(path)
	if cmd.code.IsSet || !strings.ContainsAny(path, " \t\n") || ext == driver.SourceExt || ext == driver.SourceExt+"-ir" {
		return path, args, nil
	}
	if _, err := os.Stat(cmd.console.Abs(path)); err == nil {
		return path, args, nil
	}
	if len(args) > 0 {
		return "", nil, console.Usage("leave one of them out", "the task %q and arguments after `--` cannot be used together", path)
	}
	cmd.task.text = path
	return "", []string{path}, nil
}

// explain adds to the error of a missing program how a task is passed.
func (t *task) explain(err error) error {
	missing, ok := errors.AsType[*driver.PathError](err)
	switch {
	case !ok:
	case t.text != "" && missing.Path == "":
		missing.Hint = "the task requires a project: `concerto init --here` creates one in this directory"
	case missing.IsUnlike && !strings.ContainsAny(missing.Path, `./\`):
		missing.Hint += "; a task is passed after `--`: concerto run -- " + missing.Path
	}
	return err
}

// arguments returns the arguments of a run of p. The argument - is replaced by standard input, if
// main has a task.
func (t *task) arguments(a *console.Console, p *engine.Program, args []string) ([]string, error) {
	takes, required := engine.TaskOf(p)
	switch {
	case t.text != "" && !takes:
		return nil, console.Usage("declare `fn main(task: String)` to receive it as a task", "%q is no file or directory, and `main` has no task", t.text)
	case required && len(args) == 0:
		return nil, console.Usage("for example: concerto run \"Fix the failing test\"", "the program requires a task")
	case !takes || !slices.Equal(args, []string{fromStdin}):
		return args, nil
	}
	if !t.isRead {
		text, err := io.ReadAll(a.Stdin)
		if err != nil {
			return nil, console.Usage("", "read the task from standard input: %v", console.Cause(err))
		}
		t.piped, t.isRead = strings.TrimSpace(string(text)), true
	}
	if t.piped == "" {
		return nil, console.Usage("for example: concerto run -- - < task.md", "the task on standard input is empty")
	}
	return []string{t.piped}, nil
}
