package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Read reads a schedule from a file: lines with a story, each after "# ", and JSON.
func Read(path string) (*Schedule, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for bytes.HasPrefix(text, []byte("#")) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	s := new(Schedule)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for _, b := range s.Work.blocks() {
		if _, ok := kinds[b.Kind]; !ok {
			return nil, fmt.Errorf("read %s: block %s has the unknown kind %q", path, b.Name, b.Kind)
		}
	}
	return s, nil
}

// Text returns the content of a schedule's file, with the story of its result.
func (s *Schedule) Text(r *Result) string {
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
