package keeper

import (
	"bytes"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/secret"
)

// hiding keeps secrets out of files.
type hiding struct {
	mu     sync.Mutex
	known  secret.Set
	marks  *secret.Record
	values map[string]string
}

// add tells of secrets.
func (h *hiding) add(all []Secret) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.values == nil {
		h.values, h.marks = map[string]string{}, h.known.Kept()
	}
	for _, s := range all {
		value := strings.TrimSpace(s.Value) // as a Set has it
		if len(value) < secret.MinLength {
			continue
		}
		h.known.Add(s.Name, value)
		h.values[s.Name] = value
	}
}

func (h *hiding) any() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.values) > 0
}

// text gives text as a file may have it.
func (h *hiding) text(text string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.marks == nil {
		return text
	}
	return h.marks.Text(text)
}

// back gives what text made of.
func (h *hiding) back(text string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return secret.Restore(text, func(name string) (string, bool) { v, ok := h.values[name]; return v, ok })
}

// lines gives lines as a file may have them, which gets them at a place, and those of them that
// back would not give, as a secret stands in them in another form.
func (h *hiding) lines(text []byte, at int64) (file []byte, odd map[int64][]byte) {
	for line := range bytes.Lines(text) {
		hidden := h.text(string(line))
		if h.back(hidden) != string(line) {
			if odd == nil {
				odd = map[int64][]byte{}
			}
			odd[at+int64(len(file))] = bytes.Clone(line)
		}
		file = append(file, hidden...)
	}
	return file, odd
}

// restore gives what lines of a file, which stand there at a place, were.
func (h *hiding) restore(file []byte, at int64, odd map[int64][]byte) []byte {
	if !h.any() {
		return file
	}
	var out []byte
	for line := range bytes.Lines(file) {
		if was, is := odd[at]; is {
			out = append(out, was...)
		} else {
			out = append(out, h.back(string(line))...)
		}
		at += int64(len(line))
	}
	return out
}
