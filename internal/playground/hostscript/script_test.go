package hostscript

import (
	"io"
	"strings"
	"testing"
)

// fake is a process with a given input.
type fake struct {
	input       []string
	out, errors strings.Builder
}

func (f *fake) ReadLine() (string, error) {
	if len(f.input) == 0 {
		return "", io.EOF
	}
	l := f.input[0]
	f.input = f.input[1:]
	return l, nil
}

func (f *fake) Write(text string) error {
	f.out.WriteString(text)
	return nil
}

func (f *fake) WriteStderr(line string) error {
	f.errors.WriteString(line + "\n")
	return nil
}

func (f *fake) Lookup(string) (any, bool) { return nil, false }

func (f *fake) Stopped() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestPlay(t *testing.T) {
	for _, c := range []struct {
		name, script string
		n            int
		input        []string
		code         int
		out, errors  string
		err          string
	}{
		{name: "conversation", script: "# comment\n> {\"a\": 1.0}\n< {\"b\":${.a}}\nraw x\ncrlf y\n", input: []string{`{"a":1}`}, out: "{\"b\":1}\nxy\r\n"},
		{name: "members", script: ">~ {\"a\":[{\"b\":2}]}\n< ${line} ${.}", input: []string{`{"a":[{"b":2,"c":3}],"d":4}`},
			out: "\"{\\\"a\\\":[{\\\"b\\\":2,\\\"c\\\":3}],\\\"d\\\":4}\" {\"a\":[{\"b\":2,\"c\":3}],\"d\":4}\n"},
		{name: "text", script: ">= hello\nstderr saw it\nexit 3", input: []string{"hello"}, code: 3, errors: "saw it\n"},
		{name: "mismatch", script: "> {\"a\":1}", input: []string{`{"a":2}`}, code: ExitMismatch, err: "line 1: >: want {\"a\":1}, got {\"a\":2}"},
		{name: "end", script: "read\neof\n< end", input: []string{"1"}, out: "end\n"},
		{name: "early end", script: "read\nread", input: []string{"1"}, code: ExitMismatch, err: "line 2: read: the input has ended"},
		{name: "blocks", script: "repeat 2\nread\n< ${.}\nend\nserve\nbatch\nread\n< again\nend\nend\n< never", input: []string{"1", "2", "3", "4"}, out: "1\n2\nagain\nagain\n"},
		{name: "no member", script: "read\n< ${.a.b}", input: []string{`{"a":1}`}, out: "null\n"},
		{name: "no reference", script: "< ${pid}", code: ExitMismatch, err: "line 1: <: unknown reference ${pid}"},
		{name: "cases", script: "read\nwhen {\"a\":1}\n< one\nend\nunless {\"a\":1}\n< other\nend\nread\nwhen {\"a\":1}\n< one\nend\nunless {\"a\":1}\n< other\nend", input: []string{`{"a":1,"b":2}`, `{"a":2}`}, out: "one\nother\n"},
		{name: "invalid case", script: "read\nwhen x\nend", input: []string{"1"}, code: ExitMismatch, err: "line 2: when: the line of the script is not JSON: invalid character 'x' looking for beginning of value"},
		{name: "second process", script: "< one\n--- spawn\n< two\n", n: 1, out: "two\n"},
		{name: "third process", script: "< one\n--- spawn\n< two\nhang", n: 2, out: "two\n"},
	} {
		s, err := Parse(c.script, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		f := &fake{input: c.input}
		code, err := s.Play(c.n, f)
		if code != c.code || f.out.String() != c.out || f.errors.String() != c.errors || err == nil && c.err != "" || err != nil && err.Error() != c.err {
			t.Errorf("%s: exit code = %d, output = %q, standard error = %q, error %v", c.name, code, f.out.String(), f.errors.String(), err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for script, want := range map[string]string{
		"> {}\nsend x": "line 2: unknown step \"send\"", "end": "line 1: `end` without repeat, batch, serve, when, unless", "repeat 2\n< x": "line 1: repeat without `end`",
		"serve\n--- spawn\nend": "line 2: `--- spawn` within serve",
	} {
		if _, err := Parse(script, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want %s", script, err, want)
		}
	}
}
