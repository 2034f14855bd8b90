package procgroup

import (
	"errors"
	"testing"
)

// TestBatchFiles checks which arguments a batch file may receive. npm installs agents as NAME.cmd.
func TestBatchFiles(t *testing.T) {
	for _, path := range []string{`C:\npm\claude.cmd`, `C:\x\run.BAT`, `C:\x\run.cmd. `} {
		for _, args := range [][]string{{"--print"}, {"--output-format", "stream-json", "--model=opus", "a b", `C:\dir\file.json`, "ä", "x;y,z=1", "it's"}, {""}} {
			if err := checkBatch(path, args); err != nil {
				t.Errorf("%s %q: %v", path, args, err)
			}
		}
		for _, arg := range []string{`a"b`, "100%", "%PATH%", "a&calc", "a|b", "a<b", "a>b", "a^b", "!x!", "(a)", "a\nb", "a\rb"} {
			var refused *BatchError
			if err := checkBatch(path, []string{"ok", arg}); !errors.As(err, &refused) || refused.Arg != arg {
				t.Errorf("%s %q: %v, want a refusal of the argument", path, arg, err)
			}
		}
	}
	if err := checkBatch(`C:\x\claude.exe`, []string{`a"b & c`}); err != nil {
		t.Errorf("a program: %v", err)
	}
}
