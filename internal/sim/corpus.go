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
	s := new(Schedule)
	if err := read(path, s); err != nil {
		return nil, err
	}
	return s, s.Work.known(path)
}

// ReadEngine reads a schedule of workers from a file.
func ReadEngine(path string) (*EngineSchedule, error) {
	s := new(EngineSchedule)
	if err := read(path, s); err != nil {
		return nil, err
	}
	for _, r := range s.Runs {
		if err := r.Work.known(path); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// read reads a schedule.
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

// known returns an error if the workload, which is from a file, has blocks of unknown kinds.
func (w *Workload) known(path string) error {
	for _, b := range w.blocks() {
		if _, ok := kinds[b.Kind]; !ok {
			return fmt.Errorf("read %s: block %s has the unknown kind %q", path, b.Name, b.Kind)
		}
	}
	return nil
}

// Text returns the content of a schedule's file, with the story of its result.
func (s *Schedule) Text(r *Result) string { return textOf(s, r) }

// Text returns the content of a schedule's file, with the story of its result.
func (s *EngineSchedule) Text(r *Result) string { return textOf(s, r) }

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
