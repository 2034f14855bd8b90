package project

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// applyFixes applies safe fixes repeatedly until no more are left. It writes the files and returns
// the remaining diagnostics. With --diff it prints the changes instead of writing them.
func (cmd *checkCommand) applyFixes(ctx context.Context, s driver.Request) (found diag.List, err error) {
	s.Overlay = map[string][]byte{}
	rounds := repair.Rounds{Program: isSource}
	for more := true; more; {
		if found, err = engine.CheckWith(ctx, s, program.ToolSources(cmd.console, &cmd.tools, nil)); err != nil {
			return found, console.SourceError(err)
		}
		changed := rounds.Round(found.Sorted())
		for _, x := range changed {
			s.Overlay[cmd.console.Abs(x.Name())] = x.Text()
		}
		more = len(changed) > 0
	}
	for _, x := range rounds.Files() {
		if cmd.diffs {
			if _, err := cmd.console.Stdout.Write(repair.Diff(x.Name(), x.Was.Text, repair.Show(x.Was, x.Edits))); err != nil {
				return found, err
			}
			continue
		}
		if err := console.WriteFile(cmd.console.Abs(x.Name()), x.Text()); err != nil {
			return found, console.Usage("this file and the following ones are unchanged", "write %s: %v", x.Name(), err)
		}
		fmt.Fprintf(cmd.console.Stderr, "%s: %d fixed\n", x.Name(), x.Fixes)
	}
	return found, nil
}

func isSource(name string) bool { return filepath.Ext(name) == driver.SourceExt }
