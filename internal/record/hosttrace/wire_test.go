package hosttrace

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteThenRead writes lines and reads them. Each line must be one write, and must be read
// unchanged.
func TestWriteThenRead(t *testing.T) {
	var writes [][]byte
	clock := 0.0
	w := NewWriter(writer(func(b []byte) (int, error) {
		writes = append(writes, bytes.Clone(b))
		return len(b), nil
	}), Header{Version, "2026-01-01T00:00:00Z", "main.conc"}, func() float64 { clock += 0.001234; return clock })
	w.Add(Line{Dir: Lifecycle, Host: "A", Proc: 1, Text: Start})
	w.Add(Line{Dir: From, Host: "A", Proc: 1, Session: "s", Text: `{"a":"<&\u2028` + "\u2028" + `"}`})
	w.Add(Line{Dir: From, Host: "A", Proc: 1, Text: "\xff\n"})
	w.Add(Line{Dir: Stderr, Host: "A", Text: ""})
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := string(writes[1]), `{"t":0.001234,"dir":".","host":"A","proc":1,"session":"","line":"start"}`+"\n"; got != want {
		t.Errorf("first line after the header = %s, want %s", got, want)
	}
	for _, b := range writes {
		if bytes.Count(b, []byte("\n")) != 1 || b[len(b)-1] != '\n' {
			t.Errorf("write of %q, want one line", b)
		}
	}
	r, err := Read(bytes.NewReader(bytes.Join(writes, nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Recorded{
		{Line{0.001234, Lifecycle, "A", 1, "", "start"}, 2},
		{Line{0.002468, From, "A", 1, "s", `{"a":"<&\u2028` + "\u2028" + `"}`}, 3},
		{Line{0.003702, From, "A", 1, "", "\xff\n"}, 4},
		{Line{0.004936, Stderr, "A", 0, "", ""}, 5},
	}
	if r.Header != (Header{1, "2026-01-01T00:00:00Z", "main.conc"}) {
		t.Errorf("header = %+v, want the written one", r.Header)
	}
	for i := range want {
		r.Lines[i].T = float64(int(r.Lines[i].T*1e6+0.5)) / 1e6
	}
	if d := cmp.Diff(want, r.Lines); d != "" {
		t.Error(d)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestPartialLines(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, Header{Version: Version}, func() float64 { return 0 })
	one, two := w.Part(), w.Part()
	for _, l := range []struct {
		add  func(Line)
		host string
		proc int
	}{{two, "A", 1}, {one, "A", 1}, {one, "A", 2}, {two, "A", 2}, {one, "B", 1}, {two, "A", 1}, {one, "A", 0}} {
		l.add(Line{Dir: From, Host: l.host, Proc: l.proc})
	}
	r, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, l := range r.Lines {
		got = append(got, l.Proc)
	}
	if d := cmp.Diff([]int{1, 2, 3, 4, 1, 1, 0}, got); d != "" {
		t.Error(d)
	}
	if n := r.Processes("A"); n != 4 {
		t.Errorf("Processes(A) = %d, want 4", n)
	}
}

// TestFullDisk checks that Err returns the first error, and that nothing is written after it.
func TestFullDisk(t *testing.T) {
	full := errors.New("full")
	n := 0
	w := NewWriter(writer(func(b []byte) (int, error) {
		if n++; n == 2 {
			return 3, full
		}
		return len(b), nil
	}), Header{}, func() float64 { return 0 })
	for range 3 {
		w.Add(Line{})
	}
	if !errors.Is(w.Err(), full) || n != 2 {
		t.Errorf("Err = %v after %d writes, want the error of the second write and no third one", w.Err(), n)
	}
}

func TestRead(t *testing.T) {
	const head = `{"concerto_wire":1,"started":"","program":"","more":1}` + "\n"
	const line = `{"t":0,"dir":"<","host":"A","proc":1,"session":"","line":"x"}`
	for _, c := range []struct{ name, text, err string }{
		{"empty", "", "line 1: it has no header"},
		{"no header", line + "\n", "line 1: it is no recording's header"},
		{"newer", `{"concerto_wire":2}` + "\n", "line 1: the recording has version 2, and 1 is known"},
		{"whole", head + line + "\n\n", ""},
		{"without its last end", head + line, ""},
		{"cut off", head + line + "\n" + line[:20], ""},
		{"cut in the middle", head + line[:20] + "\n" + line + "\n", "line 2: it is not a line of a recording"},
		{"another dir", head + strings.Replace(line, "<", "^", 1) + "\n", `line 2: dir is "^"`},
	} {
		r, err := Read(strings.NewReader(c.text))
		switch {
		case c.err == "" && (err != nil || len(r.Lines) != 1 || r.Lines[0].Number != 2):
			t.Errorf("%s: error of Read = %v", c.name, err)
		case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)):
			t.Errorf("%s: error of Read = %v", c.name, err)
		}
	}
}

func TestDiffers(t *testing.T) {
	long := strings.Repeat("x", 400)
	for _, c := range []struct{ name, recorded, got, loose, strict string }{
		{"the same text", "a", "a", "", ""},
		{"another text", "a", "b", "expected a, got b", "expected a, got b"},
		{"order and space", `{"a":1,"b":[null,true]}`, ` {"b": [null, true], "a": 1}`, "", ""},
		{"numbers", `{"a":1.0,"b":9007199254740993,"c":1e2}`, `{"a":1,"b":9007199254740993,"c":100}`, "", ""},
		{"large numbers", `[9007199254740993]`, `[9007199254740992]`, "expected [9007199254740993], got [9007199254740992]", "expected [9007199254740993], got [9007199254740992]"},
		{"a text for a number", `["1"]`, `[1]`, `expected ["1"], got [1]`, `expected ["1"], got [1]`},
		{"what varies", `{"type":"init","cwd":"/a","clientInfo":{"x":1},"version":"1","params":{"model":"m","cwd":"/a"}}`,
			`{"type":"init","cwd":"/b","params":{"model":"n","version":2}}`, "", "expected {"},
		{"deeper", `{"a":{"model":"m"}}`, `{"a":{"model":"n"}}`, `expected {"a":{"model":"m"}}, got {"a":{"model":"n"}}`, "expected {"},
		{"a prompt's key", `{"type":"prompt","key":"a"}`, `{"type":"prompt","key":"b"}`, "", "expected {"},
		{"a trace", `{"type":"prompt","trace":{"traceparent":"a"}}`, `{"type":"prompt"}`, "", ""},
		{"a trace of an agent", `{"params":{"a":1}}`, `{"params":{"a":1,"_meta":{"traceparent":"a"}}}`, "", ""},
		{"another's key", `{"type":"x","key":"a"}`, `{"type":"x","key":"b"}`, "expected {", "expected {"},
		{"a secret", `{"k":"***API_KEY***"}`, `{"k":"any \" text"}`, "", ""},
		{"secrets within", `{"k":"Bearer ***A*** and ***B***!"}`, `{"k":"Bearer 1 and 2!"}`, "", ""},
		{"not these", `{"k":"Bearer ***A*** and ***B***!"}`, `{"k":"Bearer 1 or 2!"}`, "expected {", "expected {"},
		{"a number that was secret", `{"k":"***A***"}`, `{"k":123456}`, "", ""},
		{"in bare text", `key ***A***`, `key abc`, "", ""},
		{"a part of a long line", `{"a":[{"b":"` + long + `"},{"b":"x"}]}`, `{"a":[{"b":"` + long + `"},{"b":"y"}]}`, `expected a[1].b "x", got "y"`, `expected a[1].b "x", got "y"`},
		{"a member too few", `{"a":"` + long + `","b":1}`, `{"a":"` + long + `"}`, "expected b 1, got nothing", "expected b 1, got nothing"},
		{"a member too many", `{"a":"` + long + `"}`, `{"a":"` + long + `","b":1}`, "expected b nothing, got 1", "expected b nothing, got 1"},
		{"an element too few", `["` + long + `",1]`, `["` + long + `"]`, "expected [1] 1, got nothing", "expected [1] 1, got nothing"},
		{"an element too many", `["` + long + `"]`, `["` + long + `",1]`, "expected [1] nothing, got 1", "expected [1] nothing, got 1"},
		{"no JSON", `{"a":1}`, `a`, `expected {"a":1}, got a`, `expected {"a":1}, got a`},
	} {
		for strict, want := range map[bool]string{false: c.loose, true: c.strict} {
			got := Comparison{Strict: strict}.Differs(c.recorded, c.got)
			if whole := want != "expected {"; whole && got != want || !whole && !strings.HasPrefix(got, want) {
				t.Errorf("%s (strict: %v): Differs = %q, want %q", c.name, strict, got, want)
			}
		}
	}
}
