package durable

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
)

// recover handles an effect that began in an earlier process and did not end there. If known is
// true, result and err are its outcome. If known is false, the effect must be performed again.
func (w *world) recover(ctx context.Context, f *inFlight, q effect.Request) (known bool, result effect.Result, err error) {
	switch effect.ClassOf(q) {
	case effect.ClassSettled:
		if w.run.c.Moved { // the files of the other machine are not available
			return w.applyDecision(ctx, f, q)
		}
		switch w.probe(ctx, f, q) {
		case effect.Done:
			return true, nil, nil
		case effect.None:
			return false, nil, nil
		}
		return w.applyDecision(ctx, f, q)
	case effect.ClassOnce:
		if _, opens := q.(*effect.MCPOpen); opens {
			// reopenObject decides about the call when the program requests its first event
			return true, &effect.MCPOpened{ID: f.e}, nil
		}
		return w.applyDecision(ctx, f, q)
	}
	return false, nil, nil
}

// probe inspects the file system to find out whether an interrupted effect has happened.
func (w *world) probe(ctx context.Context, f *inFlight, q effect.Request) effect.Status {
	switch q := q.(type) {
	case *effect.WriteFile:
		text, size := w.readText(ctx, q.Path)
		switch {
		case q.Append:
			return w.completeAppend(ctx, f, q, text, size)
		case size >= 0 && text == q.Text:
			return effect.Done
		case size == f.mark || size >= 0 && strings.HasPrefix(q.Text, text):
			return effect.None // the effect did not begin, or was interrupted; performing it again is harmless
		}
		return effect.Unknown
	case *effect.CopyFile:
		from, size := w.readText(ctx, q.From)
		switch to, there := w.readText(ctx, q.Path); {
		case there >= 0 && size >= 0 && from == to:
			return effect.Done
		case there == f.mark || there >= 0 && size >= 0 && strings.HasPrefix(from, to):
			return effect.None
		}
		return effect.Unknown
	case *effect.MakeDir:
		if info := w.fileInfo(ctx, q.Path); info != nil && info.IsDir {
			return effect.Done
		}
		return effect.None
	case *effect.RemoveFile:
		return w.probeAbsent(ctx, q.Path)
	case *effect.MoveFile:
		return w.probeAbsent(ctx, q.From)
	}
	return effect.None // performing it again is harmless, because the file of a store records which changes were made
}

// probeAbsent returns effect.Done if the file at path no longer exists, otherwise effect.None.
func (w *world) probeAbsent(ctx context.Context, path string) effect.Status {
	if info := w.fileInfo(ctx, path); info != nil && !info.Exists {
		return effect.Done
	}
	return effect.None
}

// completeAppend completes an interrupted effect that appends to a file, by writing the missing
// part of the text.
func (w *world) completeAppend(ctx context.Context, f *inFlight, q *effect.WriteFile, text string, size int64) effect.Status {
	before := max(f.mark, 0)
	switch {
	case size == f.mark || size == before:
		return effect.None
	case size < before:
		return effect.Unknown
	case text[before:] == q.Text:
		return effect.Done
	case strings.HasPrefix(q.Text, text[before:]):
		rest := *q
		rest.Text = q.Text[int64(len(text))-before:]
		if _, err := w.next.Perform(ctx, &rest); err == nil {
			return effect.Done
		}
	}
	return effect.Unknown
}

// readText returns a file's text and its size in bytes, or -1 as the size if the file could not be
// read.
func (w *world) readText(ctx context.Context, path string) (string, int64) {
	result, err := w.next.Perform(ctx, &effect.ReadFile{Path: path})
	if t, ok := result.(*effect.FileText); ok && err == nil {
		return t.Text, int64(len(t.Text))
	}
	return "", -1
}

func (w *world) fileInfo(ctx context.Context, path string) *effect.FileStatus {
	result, err := w.next.Perform(ctx, &effect.FileInfo{Path: path})
	if s, ok := result.(*effect.FileStatus); ok && err == nil {
		return s
	}
	return nil
}

// markOf returns the current size of the file that an effect will overwrite or append to, or -1 if
// the file does not exist. It returns nil for other effects.
func (w *world) markOf(q effect.Request) *int64 {
	path := ""
	switch q := q.(type) {
	case *effect.WriteFile:
		path = q.Path
	case *effect.CopyFile:
		path = q.Path
	default:
		return nil
	}
	size := int64(-1)
	if info := w.fileInfo(context.Background(), path); info != nil && info.Exists {
		size = info.Size
	}
	return &size
}

// opener returns the request that opened the object which q uses, and its effect. It returns nil if
// the journal contains no such request.
func (r *Run) opener(q effect.Request) (effect.Request, *inFlight) {
	n, ok := q.(effect.Numbered)
	if !ok {
		return nil, nil
	}
	e := *n.Number()
	o, ok := r.openers[number{q.Kind().Family(), e}]
	if !ok {
		return nil, nil
	}
	x := o.Record
	opened := effect.Lookup(effect.Kind(x.Kind)).Request()
	if len(x.Request) > 0 && json.Unmarshal(secret.RestoreJSON(x.Request, r.c.Secret), opened) != nil {
		return nil, nil
	}
	return opened, &inFlight{e: e, tries: o.Tries, until: o.Until, task: x.Task, policy: x.Policy, rule: x.Rule, class: x.Class}
}
