package effect

import (
	"bytes"
	"encoding/base64"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// AttachFile reads a file to send it to a model, and returns an *AttachedFile. The file must be a
// regular file of at most MaxAttached bytes, with a media type that models accept.
type AttachFile struct {
	Path string `json:"path"`
}

// MaxAttached is the maximum size of a file that can be sent to a model, in bytes.
const MaxAttached = 20 << 20

// AttachedFile is a file in a prompt. Name is the last part of its path, Size is in bytes, and
// SHA256 is its hash in hex. Data is base64, or for PlainText the text itself. Requests on tapes
// and in journals have no Data, because the result of AttachFile contains it.
type AttachedFile struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Data   string `json:"data,omitempty"`
}

// The media types of attached files other than images.
const (
	PlainText = "text/plain"
	PDF       = "application/pdf"
)

// NewAttachedFile returns an attached file with these contents. ok is false if the contents are
// neither an image, a PDF nor text.
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

// Content returns the contents of the file.
func (f *AttachedFile) Content() ([]byte, error) {
	if f.Type == PlainText {
		return []byte(f.Data), nil
	}
	return base64.StdEncoding.DecodeString(f.Data)
}

// mediaType returns the media type of an image or a PDF, recognised by its first bytes, or "".
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

// WithoutFileData returns a copy of messages in which files have no Data. It does not change the
// argument.
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

// Kind returns KindAttachFile.
func (*AttachFile) Kind() Kind { return KindAttachFile }
