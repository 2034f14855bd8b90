package effect

import (
	"bytes"
	"encoding/base64"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// AttachFile reads a file that is sent to a model, and returns an *AttachedFile. The file must
// be regular, of at most MaxAttached bytes, and of a type that can be sent.
type AttachFile struct {
	Path string `json:"path"`
}

// MaxAttached is the largest file that can be sent to a model, in bytes.
const MaxAttached = 20 << 20

// AttachedFile is a file in a prompt. Name is the last part of its path, Size its bytes, SHA256
// their hash in hex. Data is base64, or for PlainText the text itself. Requests on tapes and in
// journals have no Data: the result of AttachFile contains it.
type AttachedFile struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Data   string `json:"data,omitempty"`
}

// The media types of attached files that are not images.
const (
	PlainText = "text/plain"
	PDF       = "application/pdf"
)

// NewAttachedFile returns the contents of a file as an attached file. It returns false for contents
// that are neither an image, a PDF nor text.
func NewAttachedFile(name string, data []byte) (*AttachedFile, bool) {
	f := &AttachedFile{Name: path.Base(name), Type: mediaType(data), Size: int64(len(data)), SHA256: hexsum.SHA256(data)}
	switch {
	case f.Type != "":
		f.Data = base64.StdEncoding.EncodeToString(data)
	case utf8.Valid(data) && !bytes.ContainsRune(data, 0):
		f.Type, f.Data = PlainText, string(data)
	default:
		return nil, false
	}
	return f, true
}

// mediaType recognises images and PDFs by their first bytes.
func mediaType(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return PDF
	}
	return ""
}

// WithoutFileData returns messages whose files have no Data. It does not change the argument.
func WithoutFileData(messages []ChatMessage) []ChatMessage {
	if !slices.ContainsFunc(messages, func(m ChatMessage) bool { return len(m.Files) > 0 }) {
		return messages
	}
	messages = slices.Clone(messages)
	for i := range messages {
		files := slices.Clone(messages[i].Files)
		for j := range files {
			files[j].Data = ""
		}
		messages[i].Files = files
	}
	return messages
}

// Kind is KindAttachFile.
func (*AttachFile) Kind() Kind { return KindAttachFile }
