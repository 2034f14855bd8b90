package programcache

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Findings are diagnostics that are stored with their files, because messages show the lines.
type Findings struct{ diag.List }

type (
	storedFindings struct {
		Files []storedFile    `json:"files,omitempty"`
		All   []storedFinding `json:"all,omitempty"`
	}
	// storedFile is a file as messages show it: secrets in it are hidden.
	storedFile struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	storedFinding struct {
		Code    string        `json:"code"`
		Message string        `json:"message"`
		At      storedSpan    `json:"at"`
		Labels  []storedLabel `json:"labels,omitempty"`
		Hints   []string      `json:"hints,omitempty"`
		Fixes   []storedFix   `json:"fixes,omitempty"`
		Cause   string        `json:"cause,omitempty"`
		Follows string        `json:"follows,omitempty"`
	}
	storedLabel struct {
		At   storedSpan `json:"at"`
		Text string     `json:"text"`
	}
	storedFix struct {
		Title string        `json:"title"`
		Safe  bool          `json:"safe,omitempty"`
		Edits []storedLabel `json:"edits"`
	}
	// storedSpan is a part of a file, which is 0 for none, and otherwise its place in the list of
	// files, counted from 1.
	storedSpan struct {
		File       int        `json:"file,omitempty"`
		Start, End source.Pos `json:",omitempty"`
	}
)

// MarshalJSON encodes the findings.
func (f Findings) MarshalJSON() ([]byte, error) {
	var stored storedFindings
	places := map[*source.File]int{}
	span := func(of *source.File, s source.Span) storedSpan {
		if of != nil && places[of] == 0 {
			stored.Files = append(stored.Files, storedFile{of.Name, of.String()})
			places[of] = len(stored.Files)
		}
		return storedSpan{places[of], s.Start, s.End}
	}
	for _, d := range f.Since(0) {
		k := storedFinding{Code: d.Info.Code, Message: d.Message, At: span(d.File, d.Span), Hints: d.Hints, Cause: d.Cause, Follows: d.FollowsFrom}
		for _, l := range d.Labels {
			k.Labels = append(k.Labels, storedLabel{span(l.File, l.Span), l.Text})
		}
		for _, x := range d.Fixes {
			fix := storedFix{Title: x.Title, Safe: x.Safe}
			for _, e := range x.Edits {
				fix.Edits = append(fix.Edits, storedLabel{span(e.File, e.Span), e.Text})
			}
			k.Fixes = append(k.Fixes, fix)
		}
		stored.All = append(stored.All, k)
	}
	return json.Marshal(stored)
}

// UnmarshalJSON decodes findings.
func (f *Findings) UnmarshalJSON(text []byte) error {
	var stored storedFindings
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	files := []*source.File{nil}
	for _, x := range stored.Files {
		files = append(files, source.NewFile(x.Name, []byte(x.Text)))
	}
	isSound := true
	own := 0 // file of the diagnostic
	span := func(s storedSpan) (*source.File, source.Span) {
		at := cmp.Or(s.File, own)
		if at < 0 || at >= len(files) || s.Start < 0 || s.End < s.Start || files[at] == nil && s.End > 0 || files[at] != nil && int(s.End) > len(files[at].Text) {
			isSound = false
			return nil, source.Span{}
		}
		return files[s.File], source.Span{Start: s.Start, End: s.End}
	}
	for _, k := range stored.All {
		d := &diag.Diagnostic{Info: diag.Lookup(k.Code), Message: k.Message, Hints: k.Hints, Cause: k.Cause, FollowsFrom: k.Follows}
		isSound = isSound && d.Info != nil
		own = 0
		d.File, d.Span = span(k.At)
		own = k.At.File
		for _, l := range k.Labels {
			x := diag.Label{Text: l.Text}
			x.File, x.Span = span(l.At)
			d.Labels = append(d.Labels, x)
		}
		for _, x := range k.Fixes {
			fix := diag.Fix{Title: x.Title, Safe: x.Safe}
			for _, l := range x.Edits {
				e := diag.Edit{Text: l.Text}
				e.File, e.Span = span(l.At)
				fix.Edits = append(fix.Edits, e)
			}
			d.Fixes = append(d.Fixes, fix)
		}
		f.Add(d)
	}
	if !isSound {
		return errors.New("a diagnostic is not of this version, or not inside its file")
	}
	return nil
}
