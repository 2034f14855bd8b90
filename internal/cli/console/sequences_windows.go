package console

import (
	"os"

	"golang.org/x/sys/windows"
)

// EnableSequences makes a console interpret control sequences. It reports whether it does.
func EnableSequences(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	return windows.GetConsoleMode(h, &mode) == nil && windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
