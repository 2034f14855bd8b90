package secret

import "io"

// Stream cleans a text that arrives in pieces. An end that may be the beginning of a secret is held
// back until the next piece. It is not safe for concurrent use.
type Stream struct {
	set  *Set
	rest string
}

// Stream begins a text.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Next adds a piece and returns the text that is ready.
func (t *Stream) Next(piece string) string {
	if t.rest == "" && t.set.Empty() {
		return piece
	}
	var out string
	out, t.rest = t.set.find.Load().clean(t.rest+piece, false)
	return out
}

// Rest ends the text and returns the held-back part.
func (t *Stream) Rest() string {
	out := t.set.Text(t.rest)
	t.rest = ""
	return out
}

// Writer returns a writer that cleans what it writes to w. Close writes the held-back part; it does
// not close w.
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
