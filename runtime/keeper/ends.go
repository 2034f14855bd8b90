package keeper

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// endRecord is the content of end.json: what a resumed run is told of a process when its keeper has
// ended as well.
type endRecord struct {
	Process
	Begin check `json:"-"`
	// So many lines, with so many bytes, are before what the file has.
	Behind int64 `json:"behind,omitempty"`
	Offset int64 `json:"offset,omitempty"`
}

// writeEnds writes down how the processes ended, for whoever goes on with the run.
func (k *keeper) writeEnds() (err error) {
	for _, h := range k.hosted {
		p := h.describe(true)
		if p.Exit == nil {
			continue
		}
		hidden := *p.Exit
		hidden.Stderr = k.redactor.redact(hidden.Stderr)
		e := endRecord{Process: p, Behind: h.out.begin.lines, Offset: h.out.begin.bytes}
		e.Exit = &hidden
		for i := range e.Script {
			e.Script[i].Note = []byte(k.redactor.redact(string(e.Script[i].Note)))
		}
		err = errors.Join(err, replaceJSON(filepath.Join(k.Dir, h.spec.dir(), endFile), e))
	}
	return err
}

// replaceJSON writes a file as a line of JSON, whole or not at all.
func replaceJSON(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return userfile.Replace(name, append(text, '\n'), 0o600)
}

// readEnds gives the processes that have ended in order, with their keeper.
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
