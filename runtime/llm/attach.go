package llm

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// namedText returns the text that represents a text file in a prompt.
func namedText(f *effect.AttachedFile) string { return "File " + f.Name + ":\n" + f.Data }

// dataURL returns an image or a PDF as a data URL.
func dataURL(f *effect.AttachedFile) string { return "data:" + f.Type + ";base64," + f.Data }

// listFiles returns the text of a message with the names and types of its files appended, for
// matching scripted replies.
func listFiles(m *effect.ChatMessage) string {
	if len(m.Files) == 0 {
		return m.Content
	}
	var b strings.Builder
	b.WriteString(m.Content)
	for _, f := range m.Files {
		fmt.Fprintf(&b, "\n[%s: %s]", f.Name, f.Type)
	}
	return b.String()
}

// Estimates for files that are not text: the tokens of an image, and the number of bytes of a PDF
// that count as one token. The actual number depends on pixels and pages.
const (
	imageTokens      = 1600
	pdfBytesPerToken = 40
)

func fileTokens(f *effect.AttachedFile) int64 {
	switch f.Type {
	case effect.PlainText:
		return tokens(namedText(f))
	case effect.PDF:
		return max(imageTokens, f.Size/pdfBytesPerToken)
	}
	return imageTokens
}
