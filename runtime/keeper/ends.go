package keeper

import (
	"encoding/json"
	"errors"
	"path"

	"github.com/concerto-lang/concerto/internal/process/disk"
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
		err = errors.Join(err, h.out.flush(), putJSON(k.files, path.Join(h.spec.dir(), endFile), e))
	}
	return err
}

// putJSON atomically replaces a file by v as one line of JSON.
func putJSON(files disk.Files, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return files.Put(name, append(text, '\n'))
}

// readEnds returns the end records in the directory of a run. A keeper writes them when it exits
// normally.
func readEnds(files disk.Files) (all []endRecord) {
	names, _ := files.List(hostsDir)
	for _, name := range names {
		var e endRecord
		text, err := files.Read(path.Join(hostsDir, name, endFile))
		if err == nil && json.Unmarshal(text, &e) == nil && e.Exit != nil {
			all = append(all, e)
		}
	}
	return all
}
