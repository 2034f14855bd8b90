package rpc

import (
	"bytes"

	unified "github.com/rogpeppe/go-internal/diff"
)

// diff returns a unified diff, or "" if the texts are equal.
func diff(path, old, new string) string {
	text := unified.Diff("a/"+path, []byte(old), "b/"+path, []byte(new))
	_, text, _ = bytes.Cut(text, []byte("\n")) // remove the first line, which repeats the file names
	return string(text)
}
