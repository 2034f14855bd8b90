package hosttest

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

var lineRules = []rule{
	{"H13", "Concerto sends one JSON object per line, in UTF-8, terminated by a single `\\n`.", sentLines},
	{"H14", "A host may terminate its lines with `\\r\\n`, begin with a byte order mark, and write blank lines, and escape sequences of a terminal before a message, which are ignored.", lenientLines},
	{"H15", "A message is a JSON object with a string member `type`. A line that is not a message counts as a `result` whose `text` is the line, if the process has not sent a message before; the log reports this once. If it has, the line is logged and skipped.", plainText},
	{"H16", "A line may have 16 MiB. A longer one is an error that names the host, the size and the offset in the host's output, and the process is terminated.", lineLimit},
	{"H17", "A line that is not UTF-8 is such an error as well. So is a line that begins with `{` and is not JSON, for example because of `NaN` or `Infinity`, and one that nests more than 10,000 arrays and objects: the error quotes the line, which is never used as a result. A number beyond the range of values makes its message invalid: the program receives `listen:invalid`, or an error instead of a result, and the process continues.", unreadable},
	{"H18", "A last line without a terminator counts if it is a complete object or plain text. One that begins with `{` and is not JSON is an error that quotes it: the message was cut off.", halfLines},
	{"H19", "Messages are handled in the order in which they were sent, and none is lost. A host that sends faster than they are handled is slowed down by the pipe.", flood},
	{"H20", "Both sides may send large lines at the same time without reading first.", largeBothWays},
	{"H21", "A host that does not read its input never blocks the program for longer than the timeout.", neverReads},
}

func sentLines(w *world) {
	w.start(w.worker(`
>= {"type":"prompt","text":"l1\nl2 \"q\" é 😀 <&>","context":{  "a": 1 }}
< {"type":"question","id":"q"}
>= {"type":"response","in_reply_to":"question","answer_to":"q","value":[1,  2]}
< {"type":"result"}
`))
	x, err := w.tryOpen(effect.ExchangeOpen{Host: "worker", Prompt: "l1\nl2 \"q\" é 😀 <&>", Context: []byte("{\n \"a\": 1\n}")})
	if err != nil {
		w.Fatal(err)
	}
	x.reply(x.want("question", `{"id":"q"}`), "[1,\n 2]")
	x.want("result", `{}`)
}

func lenientLines(w *world) {
	w.start(w.worker(`
read
bytes efbbbf
crlf {"type":"progress","message":"p"}
crlf
raw  
< 
crlf {"type":"result","text":"done"}
read
crlf {"type":"result","text":"typed"}
read
batch
< {"type":"result","text":"followed by blank lines"}
<
raw  
end
read
< {"type":"progress","message":"not lost"}
bytes 1b5b3f323568
< {"type":"result","text":"four"}
`))
	x := w.open("one")
	x.want("progress", `{"message":"p"}`)
	x.want("result", `{"text":"done"}`)
	x.close()
	w.ask("two", "typed")
	w.ask("three", "followed by blank lines")
	x = w.open("four")
	x.want("progress", `{"message":"not lost"}`)
	x.want("result", `{"text":"four"}`)
	x.close()
}

func plainText(w *world) {
	lines := []string{
		`hello there`, `[1, 2]`, `42`, `"a string"`, `{"text": "no type"}`, `{"type": 5, "text": "x"}`,
		`{"type":"a","type":1}`, "tab\there", `  indented`, `[NaN`,
	}
	w.start(w.worker("read\n< " + strings.Join(lines, "\nread\n< ") + `
read
< {"type":"progress"}
< words
< {"text": "no type"}
< {"type":"result","text":"typed"}
read
< words
< {"type":"result","text":"again"}
`))
	for _, l := range lines {
		x := w.open("go")
		m, err := x.next()
		if err != nil {
			w.Fatalf("line %s: next message: %v", l, err)
		}
		if got, want := payload(m), fmt.Sprintf(`{"text":%s}`, quoted(l)); m.Type != "result" || got != want || string(m.Text) != l {
			w.Errorf("got %s %s, want result %s", m.Type, got, want)
		}
		x.close()
	}
	x := w.open("go")
	x.want("progress", `{}`)
	x.want("result", `{"text":"typed"}`)
	x.close()
	w.ask("go", "again")
	w.wantRemarks(
		"warn: host 'worker' sent a line that is not a message; it counts as the result: hello there",
		"warn: host 'worker' sent a line that is not a message; it is skipped: words",
		`warn: host 'worker' sent a line that is not a message; it is skipped: {"text": "no type"}`,
		"warn: host 'worker' sent a line that is not a message; it is skipped: words",
	)
}

func lineLimit(w *world) {
	c := w.worker(`
read
big 16777216 {"type":"progress","fill":"${fill}"}
big 16777217 {"type":"result","fill":"${fill}"}
hang
`)
	small := w.named("small", `
read
< 1234567890
read
< 12345678901
hang
`)
	small.MaxLine = 10
	w.start(c, small)
	x := w.open("go")
	if m, err := x.next(); err != nil || len(m.Text) != 16<<20 {
		w.Fatalf("message of 16 MiB: got %d bytes (error %v)", len(m.Text), err)
	}
	e := x.fails()
	for _, part := range []string{"host 'worker'", "16777216", "offset 16777217"} {
		if !strings.Contains(e.Message, part) {
			w.Errorf("message %q does not contain %q", e.Message, part)
		}
	}
	x = w.openAt("small", "go")
	x.want("result", `{"text":"1234567890"}`)
	x.close()
	if e := w.openAt("small", "go").fails(); !strings.Contains(e.Message, "longer than 10 bytes") {
		w.Errorf("message = %q, want that the line is longer than 10 bytes", e.Message)
	}
}

func unreadable(w *world) {
	deep := strings.Repeat("[", 10001)
	broken := []struct{ line, why string }{
		{`{"type":"result","text":"cut`, "unexpected end of the text in a string at offset 28"},
		{`{"type":"result"} and more`, "unexpected text after the value at offset 18"},
		{`  {'type': 'result'}`, "expected a key in quotes at offset 3"},
		{`{"type":"result","n":NaN}`, "JSON has no `NaN` at offset 21"},
		{`{"type":"result","n":[-Infinity]}`, "JSON has no `-Infinity` at offset 22"},
		{`{"type":"result","n":` + deep, "nesting is too deep at offset 10020"},
	}
	script := "\nread\n< {\"type\":\"progress\"}\nbytes 7b22ff227d0a\nhang\n"
	for _, b := range broken {
		script += "--- spawn\nread\n< " + b.line + "\nhang\n"
	}
	script += "--- spawn\n" + strings.Repeat("read\n< {\"type\":\"progress\",\"n\":1e400}\n< {\"type\":\"result\",\"n\":-1e400}\n", 2) + "hang\n"
	w.start(w.worker(script))
	x := w.open("go")
	x.want("progress", `{}`)
	e := x.fails()
	for _, part := range []string{"host 'worker'", "line of 5 bytes", "not valid UTF-8", "offset 20"} {
		if !strings.Contains(e.Message, part) {
			w.Errorf("message %q does not contain %q", e.Message, part)
		}
	}
	x.close()
	for _, b := range broken {
		x := w.open("go")
		shown := b.line
		if len(shown) > 200 {
			shown = shown[:200] + "…"
		}
		if e, want := x.fails(), "host 'worker' sent an invalid message ("+b.why+"): "+shown; e.Message != want {
			w.Errorf("message %q, want %q", e.Message, want)
		}
		x.close()
	}
	for range 2 {
		x := w.open("go")
		x.want("listen:invalid", `{"host":"worker","message":{"type":"progress","n":null},"error":"a number is out of range"}`)
		x.want("error", `{"message":"host 'worker' sent an invalid result: a number is out of range"}`)
		x.close()
	}
	if got := len(w.spawns("worker")); got != 2+len(broken) {
		w.Errorf("the host was started %d times, want %d", got, 2+len(broken))
	}
}

func halfLines(w *world) {
	w.start(w.worker(`
read
raw {"type":"result","text":"whole"}
exit 0
--- spawn
read
raw plain text
exit 0
--- spawn
read
raw {"no":"type"}
exit 0
--- spawn
read
< {"type":"progress"}
raw {"type":"result","text":"cu
exit 2
`))
	w.ask("go", "whole")
	w.ask("go", "plain text")
	w.ask("go", `{\"no\":\"type\"}`)
	x := w.open("go")
	x.want("progress", `{}`)
	e := x.fails()
	if !strings.Contains(e.Message, "host 'worker' ended in the middle of a message") || !strings.HasSuffix(e.Message, `{"type":"result","text":"cu`) {
		w.Errorf("message = %q, want that the host ended in the middle of a message", e.Message)
	}
	if e.Fields["exit_code"] != int64(2) {
		w.Errorf("fields = %v, want exit code 2", e.Fields)
	}
}

func flood(w *world) {
	const n = 30000
	w.start(w.worker(fmt.Sprintf(`
read
flood %d {"type":"progress","message":"working on it, please wait","i":${i}}
< {"type":"result","text":"end"}
`, n)))
	x := w.open("go")
	for i := range n {
		m, err := x.next()
		if err != nil {
			w.Fatal(err)
		}
		if want := fmt.Sprintf(`{"message":"working on it, please wait","i":%d}`, i); payload(m) != want {
			w.Fatalf("message %d = %s, want %s", i, payload(m), want)
		}
		if len(x.unchecked) >= 256 {
			w.Fatalf("a batch has more than %d messages, want at most 256", len(x.unchecked))
		}
	}
	x.want("result", `{"text":"end"}`)
}

func largeBothWays(w *world) {
	const size = 1 << 20
	w.start(w.worker(fmt.Sprintf(`
repeat 3
big %[1]d {"type":"question","id":1,"fill":"${fill}"}
end
read
repeat 3
read
end
< {"type":"result","text":"read all"}
`, size)))
	x, err := w.tryOpen(effect.ExchangeOpen{Host: "worker", Prompt: strings.Repeat("p", size)})
	if err != nil {
		w.Fatal(err)
	}
	for range 3 {
		m, err := x.next()
		if err != nil {
			w.Fatal(err)
		}
		x.reply(m, payload(m))
	}
	x.want("result", `{"text":"read all"}`)
}

func neverReads(w *world) {
	c := w.worker(`
repeat 20
big 500000 {"type":"question","id":1,"fill":"${fill}"}
end
hang
`)
	c.Timeout = 1
	w.start(c)
	x := w.open("go")
	for {
		m, err := x.next()
		if err == nil {
			r := &effect.ExchangeReply{ID: x.id, InReplyTo: m.Type, AnswerTo: m.ID, Value: []byte(payload(m))}
			_, err = w.hosts.Perform(w.ctx, r)
		}
		if err != nil {
			if e := w.hostError(err); e.Message != "host 'worker' timed out after 1 second" {
				w.Errorf("message = %q, want the timeout after 1 second", e.Message)
			}
			break
		}
	}
}
