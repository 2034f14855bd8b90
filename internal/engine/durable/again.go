package durable

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
)

// recover decides about an effect that had begun and not ended before the run was resumed. If known
// is false, the effect must be performed again.
func (w *world) recover(ctx context.Context, f *inFlight, q effect.Request) (known bool, result effect.Result, err error) {
	switch effect.ClassOf(q) {
	case effect.ClassSettled:
		switch w.probe(ctx, f, q) {
		case effect.Done:
			return true, nil, nil
		case effect.None:
			return false, nil, nil
		}
		return w.applyDecision(ctx, f, q)
	case effect.ClassOnce:
		if _, opens := q.(*effect.MCPOpen); opens {
			// the request for its events returns the result; see recalled
			return true, &effect.MCPOpened{ID: f.e}, nil
		}
		return w.applyDecision(ctx, f, q)
	}
	return false, nil, nil
}

// probe checks whether the intended change of an effect has happened.
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
			return effect.None // it had not begun, or was interrupted
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
	return effect.None // a store's file records what was done
}

// probeAbsent reports whether something was removed.
func (w *world) probeAbsent(ctx context.Context, path string) effect.Status {
	if info := w.fileInfo(ctx, path); info != nil && !info.Exists {
		return effect.Done
	}
	return effect.None
}

// completeAppend completes an effect that appends to a file: it writes the missing text.
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

// readText returns a file's text and size; -1 if it does not exist.
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

// markOf returns the size of the file that an effect is about to write; nil for an effect that
// writes none.
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

// opener returns the request that opened the object of another request in an earlier process; nil
// if the journal has none.
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
	opened := effect.Of(effect.Kind(x.Q)).Request()
	if len(x.R) > 0 && json.Unmarshal(secret.RestoreJSON(x.R, r.c.Secret), opened) != nil {
		return nil, nil
	}
	return opened, &inFlight{e: e, tries: o.Tries, until: o.Until, task: x.P, policy: x.Policy, rule: x.Rule, class: x.C}
}
