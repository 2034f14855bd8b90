package testhost

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/playground/hostscript"
)

func TestMain(m *testing.M) {
	if os.Getenv("TESTHOST") != "" {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// run plays a script with the lines of in and returns its output and exit code.
func run(t *testing.T, script, in string, args ...string) (out, stderr string, code int) {
	t.Helper()
	return runFile(t, write(t, script), in, args...)
}

func write(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.host")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func runFile(t *testing.T, file, in string, args ...string) (out, stderr string, code int) {
	t.Helper()
	c := exec.Command(os.Args[0], append([]string{file}, args...)...)
	c.Env = append(os.Environ(), "TESTHOST=1", "VAR=v \"q\"", "GORACE=atexit_sleep_ms=0")
	c.Stdin = strings.NewReader(in)
	var o, e bytes.Buffer
	c.Stdout, c.Stderr = &o, &e
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name, script, in, out string
		code                  int
	}{
		{"a conversation", "# first\n\n> {\"a\":1,\"b\":[true,null]}\n< hello\n", "{\"b\":[true,null],\"a\":1.0}\n", "hello\n", 0},
		{"members", ">~ {\"a\":{\"b\":1}}\n", "{\"a\":{\"b\":1,\"c\":2},\"d\":3}\n", "", 0},
		{"exact text", ">= a  \\n b \n", "a  \\n b \n", "", 0},
		{"an empty line", ">= \n< got it\n", "\n", "got it\n", 0},
		{"end of input", "read\neof\n< ended\n", "x\n", "ended\n", 0},
		{"reads on", "< up\n", "a\nb\n", "up\n", 0},
		{"pieces", "raw a\ncrlf b\nbytes 63 640a\n", "", "ab\r\ncd\n", 0},
		{"big", "big 10 [${fill}]\n", "", "[xxxxxxxx]\n", 0},
		{"flood", "flood 3 {\"i\":${i}}\n", "", "{\"i\":0}\n{\"i\":1}\n{\"i\":2}\n", 0},
		{"members of the last line", "read\n< {\"t\":${.a.b},\"n\":${.none},\"l\":${line}}\n", "{\"a\":{\"b\":[1,\"x\"]}}\n", "{\"t\":[1,\"x\"],\"n\":null,\"l\":\"{\\\"a\\\":{\\\"b\\\":[1,\\\"x\\\"]}}\"}\n", 0},
		{"surroundings", "< ${env.VAR} ${env.UNSET} ${args}\n", "", "\"v \\\"q\\\"\" null [\"one\",\"two\"]\n", 0},
		{"repeat", "repeat 2\n  < a\n  repeat 2\n  < b\n  end\nend\n< c\n", "", "a\nb\nb\na\nb\nb\nc\n", 0},
		{"batch", "batch\n< a\n< b\nend\n", "", "a\nb\n", 0},
		{"serve", "serve\nread\n< ${.n}\nend\n", "{\"n\":1}\n{\"n\":2}\n", "1\n2\n", 0},
		{"exit", "< a\nexit 7\n< b\n", "", "a\n", 7},
		{"exit within serve", "serve\nread\nexit 4\nend\n", "x\ny\n", "", 4},
		{"closed output", "< a\nclose-stdout\nexit 3\n", "", "a\n", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, stderr, code := run(t, c.script, c.in, "one", "two")
			if out != c.out || code != c.code || stderr != "" {
				t.Errorf("exit code %d, want %d\nout %q\nwant %q\nstderr %q", code, c.code, out, c.out, stderr)
			}
		})
	}
}

func TestMismatches(t *testing.T) {
	for _, c := range []struct{ name, script, in, message string }{
		{"another value", "read\n> {\"a\":1}\n", "x\n{\"a\":2}\n", `line 2: >: want {"a":1}, got {"a":2}`},
		{"one member more", "> {\"a\":1}\n", "{\"a\":1,\"b\":2}\n", `got {"a":1,"b":2}`},
		{"true is not 1", "> 1\n", "true\n", "got true"},
		{"no JSON", "> {}\n", "plain\n", "got plain"},
		{"missing member", ">~ {\"a\":1}\n", "{}\n", "want {\"a\":1}"},
		{"other text", ">= a\n", "b\n", `want "a", got "b"`},
		{"no input", "> {}\n", "", "the input has ended; want {}"},
		{"no end", "read\n", "abc", `no end: "abc"`},
		{"more input", "eof\n", "x\n", "got x"},
		{"within repeat", "repeat 1\nread\n>= a\nend\n", "x\ny\n", "line 3: >="},
		{"unknown step", "< a\nsing la\n", "", `line 2: unknown step "sing"`},
		{"open block", "repeat 2\n< a\n", "", "line 1: repeat without `end`"},
		{"end alone", "end\n", "", "line 1: `end` without"},
		{"unknown name", "< ${nope}\n", "", "unknown reference ${nope}"},
		{"too small", "big 3 {\"a\":\"${fill}\"}\n", "", "cannot be filled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := write(t, c.script)
			_, stderr, code := runFile(t, file, c.in)
			if code != hostscript.ExitMismatch || !strings.Contains(stderr, c.message) {
				t.Errorf("exit code %d, stderr %q, want it to contain %q", code, stderr, c.message)
			}
			if b, err := os.ReadFile(file + ".fail"); err != nil || !strings.Contains(string(b), c.message) {
				t.Errorf("%s.fail contains %q, error %v", filepath.Base(file), b, err)
			}
		})
	}
}

func TestFilesBeside(t *testing.T) {
	file := write(t, "read\nwrite note ${.a} x\nappend note more\nstderr a remark\n--- spawn\nawait note\n< second\n")
	_, stderr, _ := runFile(t, file, "{\"a\":\"é\"}\nrest\n")
	if stderr != "a remark\n" {
		t.Errorf("stderr = %q", stderr)
	}
	for range 2 {
		if out, _, _ := runFile(t, file, ""); out != "second\n" {
			t.Errorf("a later start prints %q", out)
		}
	}
	for name, want := range map[string]string{"note": "\"é\" x\nmore\n", "x.host.in": "{\"a\":\"é\"}\nrest\n"} {
		if b, _ := os.ReadFile(filepath.Join(filepath.Dir(file), name)); string(b) != want {
			t.Errorf("content of %s = %q, want %q", name, b, want)
		}
	}
	b, _ := os.ReadFile(file + ".spawns")
	if strings.Count(string(b), "\n") != 3 {
		t.Errorf("recorded starts = %q", b)
	}
}

func TestUsage(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "TESTHOST=1")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "usage") {
		t.Errorf("%q, %v", out, err)
	}
	c = exec.Command(os.Args[0], "/no/such/file")
	c.Env = append(os.Environ(), "TESTHOST=1")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "/no/such/file") {
		t.Errorf("%q, %v", out, err)
	}
}
