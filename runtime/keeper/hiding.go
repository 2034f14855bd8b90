package keeper

import (
	"bytes"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/secret"
)

// redactor replaces the secrets in texts for files by marks.
type redactor struct {
	mu      sync.Mutex
	secrets secret.Set
	marks   *secret.Record
	values  map[string]string
}

func (h *redactor) addSecrets(all []Secret) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.values == nil {
		h.values, h.marks = map[string]string{}, h.secrets.ForJournal()
	}
	for _, s := range all {
		value := strings.TrimSpace(s.Value) // the value is trimmed in the same way as in secret.Set
		if len(value) < secret.MinLength {
			continue
		}
		h.secrets.Add(s.Name, value)
		h.values[s.Name] = value
	}
}

func (h *redactor) hasSecrets() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.values) > 0
}

// redact returns the text with the secrets replaced by marks.
func (h *redactor) redact(text string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.marks == nil {
		return text
	}
	return h.marks.Text(text)
}

// restoreText replaces the marks in a text by the secrets.
func (h *redactor) restoreText(text string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return secret.Restore(text, func(name string) (string, bool) { v, ok := h.values[name]; return v, ok })
}

// newLines returns the Lines of a host's output. There must be secrets.
func (h *redactor) newLines() *secret.Lines {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.marks.Lines(func(line []byte) []byte { return []byte(h.redact(string(line))) })
}

// redactLines redacts lines that are written to a file at offset at. odd contains, by offset, the
// lines that restoreText cannot restore, because a secret appears in another form.
func (h *redactor) redactLines(split *secret.Lines, text []byte, at int64) (file []byte, odd map[int64][]byte) {
	for line := range bytes.Lines(text) {
		hidden := string(split.JSON(line))
		if h.restoreText(hidden) != string(line) {
			if odd == nil {
				odd = map[int64][]byte{}
			}
			odd[at+int64(len(file))] = bytes.Clone(line)
		}
		file = append(file, hidden...)
	}
	return file, odd
}

// restoreLines restores the secrets in lines that were read at offset at of a file.
func (h *redactor) restoreLines(file []byte, at int64, odd map[int64][]byte) []byte {
	if !h.hasSecrets() {
		return file
	}
	var out []byte
	for line := range bytes.Lines(file) {
		if was, is := odd[at]; is {
			out = append(out, was...)
		} else {
			out = append(out, h.restoreText(string(line))...)
		}
		at += int64(len(line))
	}
	return out
}
