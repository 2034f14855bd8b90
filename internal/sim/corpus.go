package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// read reads a schedule from a file: lines with a story, each after "# ", and JSON.
func read(path string, s any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for bytes.HasPrefix(text, []byte("#")) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// textOf returns the content of a schedule's file, with the story of its result.
func textOf(s any, r *Result) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Join(r.Problems, "\n") + "\n" + r.Story) {
		fmt.Fprintf(&b, "# %s\n", strings.TrimRight(line, "\n"))
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // a schedule consists of texts and numbers
	}
	return b.String() + string(text) + "\n"
}
