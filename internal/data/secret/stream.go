package secret

import "io"

// Stream replaces the secrets in a text that arrives in pieces. If the end of a piece may be the
// start of a secret, it is held back until the next piece. A Stream is not safe for concurrent use.
type Stream struct {
	set  *Set
	rest string
}

// Stream returns a Stream for a new text.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Next adds a piece, and returns the text that cannot be part of a secret any more.
func (t *Stream) Next(piece string) string {
	if t.rest == "" && t.set.Empty() {
		return piece
	}
	var out string
	out, t.rest = t.set.find.Load().clean(t.rest+piece, false)
	return out
}

// Held returns the part of the text so far that is held back.
func (t *Stream) Held() string { return t.rest }

// Rest ends the text and returns the part that was held back.
func (t *Stream) Rest() string {
	out := t.set.Text(t.rest)
	t.rest = ""
	return out
}

// Writer returns a writer that writes to w with secrets replaced. Close writes the part that was
// held back, and does not close w.
func (s *Set) Writer(w io.Writer) io.WriteCloser { return &writer{s.Stream(), w} }

type writer struct {
	text *Stream
	w    io.Writer
}

func (x *writer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(x.w, x.text.Next(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (x *writer) Close() error {
	_, err := io.WriteString(x.w, x.text.Rest())
	return err
}
