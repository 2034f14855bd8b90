package keeper

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// endRecord is the content of end.json. It describes the state of a process for a run that is
// resumed after the keeper has exited.
type endRecord struct {
	Process
	Begin checkpoint `json:"-"`
	// numbers of lines and bytes of the output that are no longer in the file
	LinesBefore int64 `json:"behind,omitempty"`
	Offset      int64 `json:"offset,omitempty"`
}

// writeEnds writes the end records of all processes that have exited.
func (k *keeper) writeEnds() (err error) {
	for _, h := range k.hosted {
		p := h.describe(true)
		if p.Exit == nil {
			continue
		}
		hidden := *p.Exit
		hidden.Stderr = k.redactor.redact(hidden.Stderr)
		e := endRecord{Process: p, LinesBefore: h.out.begin.lines, Offset: h.out.begin.bytes}
		e.Exit = &hidden
		for i := range e.Script {
			e.Script[i].Note = []byte(k.redactor.redact(string(e.Script[i].Note)))
		}
		err = errors.Join(err, h.out.flush(), replaceJSON(filepath.Join(k.Dir, h.spec.dir(), endFile), e))
	}
	return err
}

// replaceJSON atomically replaces a file by v as one line of JSON.
func replaceJSON(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return userfile.Replace(name, append(text, '\n'), 0o600)
}

// readEnds returns the end records in the directory of a run. A keeper writes them when it exits
// normally.
func readEnds(dir string) (all []endRecord) {
	dirs, _ := os.ReadDir(filepath.Join(dir, hostsDir))
	for _, d := range dirs {
		var e endRecord
		text, err := os.ReadFile(filepath.Join(dir, hostsDir, d.Name(), endFile))
		if err == nil && json.Unmarshal(text, &e) == nil && e.Exit != nil {
			all = append(all, e)
		}
	}
	return all
}
