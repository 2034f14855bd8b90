package rpc

import (
	"bytes"
	"strings"

	unified "github.com/rogpeppe/go-internal/diff"
)

// diff is a unified diff of a file's text; "" when it is the same.
func diff(path, old, new string) string {
	text := unified.Diff("a/"+path, []byte(old), "b/"+path, []byte(new))
	_, text, _ = bytes.Cut(text, []byte("\n")) // its first line names the two once more
	return string(text)
}

// cutDiff is a diff of as many bytes as a request may have. What is cut, it says.
func cutDiff(text string) string {
	if len(text) <= maxDiff {
		return text
	}
	const said = "\\ the rest of the diff is left out: it is longer than 64 KiB\n"
	text = text[:maxDiff-len(said)]
	return text[:strings.LastIndexByte(text, '\n')+1] + said
}
