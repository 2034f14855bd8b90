package procgroup

import (
	"fmt"
	"path/filepath"
	"strings"
)

// BatchError means that an argument of a batch file contains characters that cmd.exe would
// interpret, so that the argument could not be passed unchanged.
type BatchError struct{ Path, Arg string }

func (e *BatchError) Error() string {
	return fmt.Sprintf("%s is a batch file, and cmd.exe would interpret a character of the argument %q: start the program that the file starts, or remove the character", e.Path, e.Arg)
}

// checkBatch returns a *BatchError if path is a batch file of Windows, which cmd.exe executes, and
// an argument contains a character that cmd.exe interprets.
func checkBatch(path string, args []string) error {
	if ext := strings.ToLower(filepath.Ext(strings.TrimRight(path, ". "))); ext != ".cmd" && ext != ".bat" {
		return nil
	}
	for _, a := range args {
		if strings.ContainsAny(a, "\"%!^&|<>()\r\n\x00") {
			return &BatchError{path, a}
		}
	}
	return nil
}
