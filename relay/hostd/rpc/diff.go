package rpc

import (
	"bytes"
	"strings"

	unified "github.com/rogpeppe/go-internal/diff"
)

// diff returns a unified diff, or "" if the texts are equal.
func diff(path, old, new string) string {
	text := unified.Diff("a/"+path, []byte(old), "b/"+path, []byte(new))
	_, text, _ = bytes.Cut(text, []byte("\n")) // remove the first line, which repeats the file names
	return string(text)
}

// cutDiff shortens a diff to maxDiff bytes. It appends a note that the rest is omitted.
func cutDiff(text string) string {
	if len(text) <= maxDiff {
		return text
	}
	const cutNote = "\\ the rest of the diff is left out: it is longer than 64 KiB\n"
	text = text[:maxDiff-len(cutNote)]
	return text[:strings.LastIndexByte(text, '\n')+1] + cutNote
}
