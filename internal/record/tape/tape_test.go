package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// TestKinds records a result and an error of each kind of effect, and plays them. The values must
// be restored, except that an object has the number of the replaying run.
func TestKinds(t *testing.T) {
	sometimes := &effect.Error{Kind: "HttpError", Message: "gone", Status: effect.Unknown,
		Fields: map[string]any{"url": "http://a", "status": int64(1<<53 + 1), "ratio": 2.0, "retryable": true,
			"tasks": json.RawMessage(`[{"id":"a","kind":"agent"}]`), "result": json.RawMessage(`{"type":"result","text":"b"}`)}}
	kinds := 0
	for _, row := range effect.Table() {
		if !Recorded(row.Kind) {
			continue
		}
		kinds++
		var result effect.Result
		if row.Result != nil {
			result = row.Result()
		}
		if m, ok := result.(*effect.ExchangeMessages); ok {
			m.Messages = []effect.HostMessage{message(t, `{"type":"progress","message":"a"}`), message(t, ` {"id": 1, "type":"question"}`)}
			// the form in which a host with several instances reports its session
			m.Messages[1].Payload.Map().SetString("session", value.String("s"))
		}
		if n, ok := result.(effect.Numbered); ok {
			*n.Number() = 1000
		}
		var b bytes.Buffer
		r := Record(&b, Header{}, nil)
		r.EffectEnded(7, row.Request(), result, nil, nil)
		r.EffectEnded(8, row.Request(), nil, sometimes, &vm.Moment{Consumed: 3, Ticks: 4})
		r.EffectEnded(9, row.Request(), nil, context.Canceled, nil)
		if err := r.Close(0); err != nil {
			t.Fatal(err)
		}
		read, err := Read(&b)
		if err != nil {
			t.Errorf("%s: recording: %v", row.Kind, err)
			continue
		}
		p := Play(read)
		got, found, err := p.Result(17, row.Request())
		if n, ok := result.(effect.Numbered); ok {
			*n.Number() = 17
		}
		if !found || err != nil {
			t.Errorf("%s: playing: found %v, error %v", row.Kind, found, err)
		}
		none := cmp.FilterValues(func(a, b json.RawMessage) bool { return isNull(a) && isNull(b) }, cmp.Ignore())
		if diff := cmp.Diff(result, got, none, cmp.Comparer(func(a, b value.Slot) bool {
			return bytes.Equal(value.AppendJSON(nil, a), value.AppendJSON(nil, b))
		}), cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Messages.Text" }, cmp.Comparer(func(a, b []byte) bool { return len(a) == len(b) }))); diff != "" {
			t.Errorf("result of %s differs (-recorded +played):\n%s", row.Kind, diff)
		}
		_, _, err = p.Result(8, row.Request())
		if diff := cmp.Diff(error(sometimes), err); diff != "" {
			t.Errorf("error of %s differs (-recorded +played):\n%s", row.Kind, diff)
		}
		if _, _, err = p.Result(9, row.Request()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", row.Kind, err)
		}
	}
	if kinds < 40 {
		t.Errorf("tested %d kinds of effects, want at least 40", kinds)
	}
}

func message(t *testing.T, line string) effect.HostMessage {
	t.Helper()
	typ, id, payload, err := value.ParseMessage([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return effect.HostMessage{Type: typ, ID: string(id), Payload: payload, Text: []byte(line)}
}

// TestOrder checks that running effects end in the order of the tape, except those that ended at a
// moment in the middle of a turn.
func TestOrder(t *testing.T) {
	tape, err := Read(strings.NewReader(`{"tape":1}
{"e":2,"q":"sleep","r":{"ms":20}}
{"place":"over","err":{"kind":"Broken","message":"time is over"}}
{"e":3,"q":"sleep","r":{"ms":30},"w":[1,5]}
{"e":1,"q":"sleep","r":{"ms":10}}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := Play(tape)
	for e, ms := range map[int64]int64{1: 10, 2: 20, 3: 30} {
		if state, err := p.Find(e, &effect.Sleep{Milliseconds: ms}); state != vm.Recorded || err != nil {
			t.Fatal(state, err)
		}
	}
	next := func(want int64) {
		t.Helper()
		if x, ok := p.NextEvent(); !ok || x.E != want {
			t.Errorf("NextEvent = %+v, %v, want effect %d", x, ok, want)
		}
	}
	next(2)
	if _, ok := p.EventAt(vm.Moment{Consumed: 1, Ticks: 4}); ok {
		t.Error("EventAt returned an event before its moment")
	}
	x, ok := p.EventAt(vm.Moment{Consumed: 1, Ticks: 5})
	if !ok || x.E != 3 {
		t.Errorf("EventAt = %+v, %v, want effect 3", x, ok)
	}
	if x, ok := p.NextEvent(); !ok || x.E != 0 || x.Err.Error() != "time is over" {
		t.Errorf("NextEvent = %+v, %v, want the end of the context", x, ok)
	}
	next(1)
	if x, ok := p.NextEvent(); ok {
		t.Errorf("NextEvent at the end = %+v, want none", x)
	}
}

func TestMissing(t *testing.T) {
	tape, err := Read(strings.NewReader(`{"tape":1}
{"e":1,"q":"http","r":{"method":"GET","url":"http://a/1","timeout_ms":5},"v":{"status":200,"headers":[],"body":"x"}}
{"e":2,"q":"http","r":{"method":"GET","url":"http://a/2","timeout_ms":5},"v":{"status":200,"headers":[],"body":"x"}}
{"e":3,"q":"env","r":{"name":"A"},"v":{"value":"","set":false}}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := Play(tape)
	get := func(e int64, url, want string) {
		t.Helper()
		_, _, err := p.Result(e, &effect.HTTP{Method: "GET", URL: url, Timeout: 5})
		if got := ""; err != nil {
			got = err.Error()
			if got != want {
				t.Errorf("error = %s\nwant\n%s", got, want)
			}
		} else if want != "" {
			t.Error("Result returned no error although the request is not on the tape")
		}
	}
	get(9, "http://a/3", `http (effect 9) is not in the tape; the nearest is on line 2:
 {
   "method": "GET",
   "timeout_ms": 5,
-  "url": "http://a/1"
+  "url": "http://a/3"
 }`)
	get(1, "http://a/1", "")
	get(5, "http://a/2", "")
	get(6, "http://a/2", "http (effect 6) is not in the tape; the nearest, on line 3, was already used by effect 5")
	if _, _, err := p.Result(7, &effect.ReadFile{Path: "a"}); err == nil || err.Error() != "fs.read (effect 7) is not in the tape: it has no fs.read" {
		t.Error(err)
	}
	if kinds, n := p.Unused(); n != 1 || kinds[0] != string(effect.KindEnv) {
		t.Error(kinds, n)
	}
}

func TestInvalidTapes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                notATape,
		"{}":                              notATape,
		"text":                            notATape,
		`{"tape":0}`:                      notATape,
		`{"tape":2}`:                      "made by a newer version",
		`{"tape":1,"seed":"x"}`:           `1: seed "x" is no Int`,
		`{"tape":1,"sede":"1"}`:           `unknown field "sede"`,
		"{\"tape\":1}\n{}":                "2: a line of a tape has q",
		"{\"tape\":1}\n{\"q\":\"clok\"}":  `2: there is no effect of kind "clok"`,
		"{\"tape\":1}\n{\"q\":\"emit\"}":  "2: an effect of kind emit is not recorded",
		"{\"tape\":1}\n{\"q\":\"clock\",": "2: unexpected EOF",
		"{\"tape\":1}\n{\"q\":\"clock\"}": "2: clock has neither v nor err",
		"{\"tape\":1}\n{\"q\":\"agent.call\",\"v\":null}":                              "2: agent.call has neither v nor err",
		"{\"tape\":1}\n{\"place\":\"here\"}":                                           `2: place "here" is none of`,
		"{\"tape\":1}\n\n{\"q\":\"clock\",\"v\":{\"unix_ms\":\"now\"}}":                "3: what clock gave: ",
		"{\"tape\":1}\n{\"q\":\"exchange.next\"}":                                      "2: what exchange.next gave: it has no lines",
		"{\"tape\":1}\n{\"q\":\"exchange.next\",\"lines\":[\"{}\"]}":                   "line 1: not an object with a string `type`",
		"{\"tape\":1}\n{\"q\":\"sleep\",\"v\":{}}":                                     "2: what sleep gave: it has no result",
		"{\"tape\":1}\n{\"q\":\"clock\",\"err\":{\"kind\":\"Oops\"}}":                  `2: there is no error type "Oops"`,
		"{\"tape\":1}\n{\"end\":{\"code\":0}}\n{\"q\":\"clock\"}":                      "3: nothing comes after the end",
		"{\"tape\":1}\n{\"q\":\"clock\"} {\"q\":\"clock\"}":                            "2: more than one JSON value",
		"{\"tape\":1}\n{\"q\":\"clock\",\"err\":{\"kind\":\"HttpError\",\"x\":\"?\"}}": `2: x is "?"`,
	} {
		_, err := Read(strings.NewReader(text))
		var m *SyntaxError
		if !errors.As(err, &m) || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q): error = %v, want %s", text, err, want)
		}
	}
}

// FuzzRead checks that Read and Play do not panic for any text, and that each entry of a valid tape
// is found.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"tape\":1}\n{\"e\":1,\"q\":\"clock\",\"v\":{\"unix_ms\":1}}\n{\"end\":{\"code\":0}}"))
	f.Add([]byte("{\"tape\":1}\n{\"q\":\"exchange.open\",\"r\":{\"host\":\"W\",\"prompt\":\"p\"}}\n{\"q\":\"exchange.next\",\"lines\":[\"{\\\"type\\\":\\\"result\\\"}\"],\"sizes\":[3],\"decided\":[0]}"))
	f.Add([]byte("{\"tape\":1}\n{\"place\":\"waits\",\"q\":\"store.read\"}\n{\"place\":\"memory\",\"w\":[0,1]}\n{\"place\":\"over\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tape, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		restored, err := tape.Restore(func(string) (string, bool) { return "secret\"\\", true })
		if err != nil {
			return
		}
		p := Play(restored)
		for i := range tape.Entries {
			e := &tape.Entries[i]
			if e.Q == "" {
				continue
			}
			if _, found, _ := p.Result(e.E, effect.Lookup(e.Q).Request()); !found {
				t.Errorf("Result of the recorded effect %s: found = false", e.Q)
			}
		}
		p.EventAt(vm.Moment{Consumed: 0, Ticks: 1})
		p.NextEvent()
		p.Unused()
	})
}

// TestNumbersLeftOut checks that the requests of an exchange are found if its opening entry has no
// number. It also checks the error for a request whose object another effect has opened.
func TestNumbersLeftOut(t *testing.T) {
	const entries = `{"tape":1}
{E1"q":"exchange.open","r":{"host":"A","prompt":"go"},"v":{}}
{"e":2,"q":"exchange.open","r":{"host":"B","prompt":"go"},"v":{}}
{"e":3,"q":"exchange.close","of":1}
`
	play := func(e1 string) *Player {
		t.Helper()
		tape, err := Read(strings.NewReader(strings.Replace(entries, "E1", e1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		p := Play(tape)
		for e, host := range []string{"A", "B"} {
			if _, err := p.Find(int64(e+1), &effect.ExchangeOpen{Host: host, Prompt: "go"}); err != nil {
				t.Fatal(err)
			}
			if x, ok := p.NextEvent(); !ok || x.Err != nil {
				t.Fatal(x, ok)
			}
		}
		return p
	}
	for _, e1 := range []string{`"e":1,`, ``} {
		if _, err := play(e1).Find(3, &effect.ExchangeClose{ID: 1}); err != nil {
			t.Errorf("Find with the opening's number %q: %v", e1, err)
		}
	}
	const want = "exchange.close (effect 3) is not in the tape; the nearest, on line 4, refers to what effect 1 opened"
	if _, err := play(`"e":1,`).Find(3, &effect.ExchangeClose{ID: 2}); err == nil || err.Error() != want {
		t.Errorf("error = %v\nwant %s", err, want)
	}
}
