package durable

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
)

// again decides about an effect that had begun before the run was gone on with, and had not
// ended. known is false when it is to be made again.
func (w *world) again(ctx context.Context, f *flight, q effect.Request) (known bool, result effect.Result, err error) {
	switch effect.ClassOf(q) {
	case effect.ClassSettled:
		switch w.looked(ctx, f, q) {
		case effect.Done:
			return true, nil, nil
		case effect.None:
			return false, nil, nil
		}
		return w.decided(ctx, f, q)
	case effect.ClassOnce:
		if _, opens := q.(*effect.MCPOpen); opens {
			return true, &effect.MCPOpened{ID: f.e}, nil // what became of the call who asks for its events hears; see recalled
		}
		return w.decided(ctx, f, q)
	}
	return false, nil, nil
}

// looked looks at what an effect was to change.
func (w *world) looked(ctx context.Context, f *flight, q effect.Request) effect.Status {
	switch q := q.(type) {
	case *effect.WriteFile:
		text, size := w.text(ctx, q.Path)
		switch {
		case q.Append:
			return w.appended(ctx, f, q, text, size)
		case size >= 0 && text == q.Text:
			return effect.Done
		case size == f.mark || size >= 0 && strings.HasPrefix(q.Text, text):
			return effect.None // it had not begun, or was cut off
		}
		return effect.Unknown
	case *effect.CopyFile:
		from, size := w.text(ctx, q.From)
		switch to, there := w.text(ctx, q.Path); {
		case there >= 0 && size >= 0 && from == to:
			return effect.Done
		case there == f.mark || there >= 0 && size >= 0 && strings.HasPrefix(from, to):
			return effect.None
		}
		return effect.Unknown
	case *effect.MakeDir:
		if info := w.info(ctx, q.Path); info != nil && info.IsDir {
			return effect.Done
		}
		return effect.None
	case *effect.RemoveFile:
		return w.gone(ctx, q.Path)
	case *effect.MoveFile:
		return w.gone(ctx, q.From)
	}
	return effect.None // a store's file knows what was done
}

// gone says whether something was taken away.
func (w *world) gone(ctx context.Context, path string) effect.Status {
	if info := w.info(ctx, path); info != nil && !info.Exists {
		return effect.Done
	}
	return effect.None
}

// appended settles what was to be put behind a file's text: what is missing of it is added.
func (w *world) appended(ctx context.Context, f *flight, q *effect.WriteFile, text string, size int64) effect.Status {
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

// text is a file's, and its size; -1 when there is none.
func (w *world) text(ctx context.Context, path string) (string, int64) {
	result, err := w.next.Perform(ctx, &effect.ReadFile{Path: path})
	if t, ok := result.(*effect.FileText); ok && err == nil {
		return t.Text, int64(len(t.Text))
	}
	return "", -1
}

func (w *world) info(ctx context.Context, path string) *effect.FileStatus {
	result, err := w.next.Perform(ctx, &effect.FileInfo{Path: path})
	if s, ok := result.(*effect.FileStatus); ok && err == nil {
		return s
	}
	return nil
}

// markOf is the size of the file that an effect is about to write; nil for an effect that
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
	if info := w.info(context.Background(), path); info != nil && info.Exists {
		size = info.Size
	}
	return &size
}

// opener gives the request that has opened what another is about, in the process before; nil
// when the journal has none.
func (r *Run) opener(q effect.Request) (effect.Request, *flight) {
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
	return opened, &flight{e: e, tries: o.Tries, until: o.Until, task: x.P, policy: x.Policy, rule: x.Rule, class: x.C}
}
