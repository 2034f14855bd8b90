package ndjson

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// readAll returns the lines of src. It marks an incomplete last line with a trailing "…".
func readAll(src io.Reader, limit int) ([]string, error) {
	var got []string
	r := NewReader(src, limit)
	for {
		l, err := r.NextLine()
		if err != nil {
			return got, err
		}
		s := string(l.Text)
		if l.Half {
			s += "…"
		}
		got = append(got, s)
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\nb\n", "a|b"},
		{"no input", "", ""},
		{"half line", "a\nb", "a|b…"},
		{"half line with return", "a\r", "a…"},
		{"crlf", "a\r\nb\r\n", "a|b"},
		{"return within", "a\rb\n", "a\rb"},
		{"one return only is dropped", "a\r\r\n", "a\r"},
		{"blank lines", "\n\r\n \t\na\n\n", "a"},
		{"mark before the first line", "\xef\xbb\xbfa\n\xef\xbb\xbfb\n", "a|\ufeffb"},
		{"mark alone", "\xef\xbb\xbf\r\n\xef\xbb\xbfa\n", "\ufeffa"},
		{"mark in a half line", "\xef\xbb\xbfa", "a…"},
		{"code points", "é…😀\n", "é…😀"},
	} {
		for _, mode := range []string{"whole", "bytewise"} {
			t.Run(c.name+"/"+mode, func(t *testing.T) {
				var src io.Reader = strings.NewReader(c.in)
				if mode == "bytewise" {
					src = iotest.OneByteReader(src)
				}
				got, err := readAll(src, 0)
				if err != io.EOF {
					t.Fatalf("error = %v, want io.EOF", err)
				}
				if g := strings.Join(got, "|"); g != c.want {
					t.Errorf("lines = %q, want %q", g, c.want)
				}
			})
		}
	}
}

func TestLimit(t *testing.T) {
	long := strings.Repeat("x", 100)
	got, err := readAll(strings.NewReader("ab\n"+long+"\n"+long+"y\nc\n"), 100)
	var e *TooLongError
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a TooLongError", err)
	}
	if want := (TooLongError{Offset: 104, Size: 101, Limit: 100}); *e != want {
		t.Errorf("error = %+v, want %+v", *e, want)
	}
	if len(got) != 2 || got[1] != long {
		t.Errorf("read %d lines before the long one, want 2", len(got))
	}
}

// TestLimitCutsEndlessLine checks that a line without an end fails soon after the limit, however
// much input follows.
func TestLimitCutsEndlessLine(t *testing.T) {
	src := &endless{}
	_, err := readAll(src, 1<<20)
	var e *TooLongError
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a TooLongError", err)
	}
	if src.n > 4<<20 {
		t.Errorf("the reader read %d bytes with a limit of 1 MiB", src.n)
	}
}

type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	e.n += len(b)
	return len(b), nil
}

func TestLimitLeavesOutLineEndAndMark(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	got, err := readAll(iotest.HalfReader(strings.NewReader("\xef\xbb\xbf"+long+"\r\n"+long+"\r\n")), 1<<17)
	if err != io.EOF || len(got) != 2 || got[0] != long || got[1] != long {
		t.Errorf("read %d lines, error %v; want the 2 long lines and io.EOF", len(got), err)
	}
}

func TestInvalidEncoding(t *testing.T) {
	got, err := readAll(strings.NewReader("a\nbc\xffd\ne\n"), 0)
	var e *EncodingError
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want an EncodingError", err)
	}
	if want := (EncodingError{Offset: 2, Size: 4, At: 2}); e.Offset != want.Offset || e.Size != want.Size || e.At != want.At || string(e.Text) != "bc\xffd" {
		t.Errorf("error = %+v, want %+v", *e, want)
	}
	if len(got) != 1 {
		t.Errorf("lines before the invalid one = %q, want one", got)
	}
}

// TestSourceFailure checks that an incomplete line is not returned if the source fails. It would be
// returned at the end of the input.
func TestSourceFailure(t *testing.T) {
	broken := errors.New("broken")
	got, err := readAll(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 0)
	if err != broken || len(got) != 1 {
		t.Errorf("lines = %q, error %v; want one line and the error of the source", got, err)
	}
}

// TestLinesStayValid checks that reading more lines does not change the lines that were returned
// earlier.
func TestLinesStayValid(t *testing.T) {
	var in strings.Builder
	for i := range 20000 {
		in.WriteString(strings.Repeat("l", 1+i%200))
		in.WriteByte('\n')
	}
	r := NewReader(strings.NewReader(in.String()), 0)
	var lines [][]byte
	for {
		l, err := r.NextLine()
		if err != nil {
			break
		}
		lines = append(lines, l.Text)
	}
	for i, l := range lines {
		if len(l) != 1+i%200 || len(bytes.Trim(l, "l")) != 0 {
			t.Fatalf("line %d was changed to %q", i, l)
		}
	}
	if len(lines) != 20000 {
		t.Errorf("read %d lines, want 20000", len(lines))
	}
}

func TestReady(t *testing.T) {
	pr, pw := io.Pipe()
	r := NewReader(pr, 0)
	if r.Ready() {
		t.Error("Ready returns true before there is input")
	}
	// Ready must ignore blank lines, whether they are complete or not.
	go pw.Write([]byte("a\nb\n\r\nc\n \n\n\td"))
	for _, w := range []struct {
		line  string
		ready bool
	}{{"a", true}, {"b", true}, {"c", false}} {
		l, err := r.NextLine()
		if err != nil {
			t.Fatal(err)
		}
		if string(l.Text) != w.line || r.Ready() != w.ready || r.Ready() != w.ready {
			t.Errorf("line %q, Ready %v; want %q, %v", l.Text, r.Ready(), w.line, w.ready)
		}
	}
	pw.Close()
}

// pausing is a source that returns one piece per read. Before each piece it returns a timeout error
// once.
type pausing struct {
	pieces []string
	paused bool
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.paused = !p.paused; p.paused {
		return 0, os.ErrDeadlineExceeded
	}
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	p.pieces = p.pieces[1:]
	return n, nil
}

// TestSourceTimesOut checks that reading continues at the same byte after a timeout of the source,
// even inside a line.
func TestSourceTimesOut(t *testing.T) {
	r := NewReader(&pausing{pieces: []string{"one\ntw", "o", "\n\nthr", "ee"}}, 0)
	var got []string
	pauses := 0
	for {
		l, err := r.NextLine()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			pauses++
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
		got = append(got, string(l.Text))
	}
	if strings.Join(got, "|") != "one|two|three" || pauses != 5 {
		t.Errorf("lines = %q with %d timeouts, want 3 lines with 5 timeouts", got, pauses)
	}
}

func TestAppend(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:              "{\"a\":1}\n",
		"{\r\n  \"a\": 1\n}":   "{    \"a\": 1 }\n",
		`"a\nb"`:               "\"a\\nb\"\n",
		"":                     "\n",
		"\n":                   " \n",
		"{\"k\":\"v\"}\n":      "{\"k\":\"v\"} \n",
		"[1,\n\n2]":            "[1,  2]\n",
		"\"no \u2028 change\"": "\"no \u2028 change\"\n",
	} {
		if got := string(Append([]byte("p"), []byte(in))); got != "p"+want {
			t.Errorf("Append(%q) = %q, want %q", in, got, "p"+want)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n\xef\xbb\xbf{}"), 3)
	f.Add([]byte("\xef\xbb\xbf{}\r\n\xff"), 1)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		if limit < 1 || limit > 1<<16 {
			limit = 1 << 16
		}
		whole, err1 := readAll(bytes.NewReader(in), limit)
		pieces, err2 := readAll(iotest.OneByteReader(bytes.NewReader(in)), limit)
		if strings.Join(whole, "\n") != strings.Join(pieces, "\n") {
			t.Fatalf("lines of the whole input %q, read byte by byte %q", whole, pieces)
		}
		if (err1 == io.EOF) != (err2 == io.EOF) {
			t.Fatalf("error for the whole input %v, read byte by byte %v", err1, err2)
		}
		for _, l := range whole {
			if !utf8.ValidString(l) || strings.Contains(l, "\n") || strings.TrimSpace(l) == "" && !strings.ContainsAny(l, "\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000") {
				t.Fatalf("invalid line %q", l)
			}
		}
	})
}

func BenchmarkReader(b *testing.B) {
	line := []byte(`{"type":"progress","message":"working on it, please wait","i":12345}` + "\n")
	in := bytes.Repeat(line, 10000)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r := NewReader(bytes.NewReader(in), 0)
		for {
			if _, err := r.NextLine(); err != nil {
				break
			}
		}
	}
}
