package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// listening is a program whose main listens to the host Worker. Its result is a tuple that contains
// the result of the listen. Constant k0 is the prompt. The constants of the test follow.
type listening struct {
	*asm
	main *ir.Function
}

// newListening returns the program with these handlers. Each handler is a message type and a block
// of code. The payload is in r9, and the registers above r9 are free.
func newListening(handlers ...string) *listening {
	a := newAsm()
	a.str("go")
	a.Hosts = []ir.Host{{Name: "Worker", Config: []byte(`{"instances":2}`)}}
	a.typ(ir.TypeInfo{Kind: "any"})
	str := a.typ(ir.TypeInfo{Kind: "string"})
	a.typ(ir.TypeInfo{Kind: "schema", Name: "Q", Fields: []ir.FieldInfo{{Name: "question", Type: str}}})
	f := a.fn("main() Full 20", `
		LoadNil r2
		LoadHost r6 d0
		LoadConst r7 k0
		LoadNil r8
		ListenBegin r5 l0
		Move r1 r5
		NewTuple r1 r1 2
		Return r1`)
	l := ir.ListenInfo{Host: 0}
	for i := 0; i < len(handlers); i += 2 {
		h := ir.Handler{Type: handlers[i], Param: 9, Schema: -1, Block: assemble(handlers[i+1])}
		if typ, schema, ok := strings.Cut(handlers[i], ":"); ok {
			h.Type, h.Schema = typ, 2
			h.Implicit = schema == "implicit"
			if h.Implicit {
				h.Schema = -1
			}
		}
		l.Handlers = append(l.Handlers, h)
	}
	f.Listens = []ir.ListenInfo{l}
	return &listening{a, f}
}

// play runs the program and compares the result, the log, and the replies with the expected ones.
func (l *listening) play(t *testing.T, s *stage, want string, log ...string) {
	t.Helper()
	l.main = nil
	out, err := l.run(t, Config{Performer: s})
	got := ""
	var u *Uncaught
	switch {
	case errors.As(err, &u):
		got = "uncaught " + u.Message
	case err != nil:
		got = "ended " + err.Error()
	default:
		got = string(value.AppendJSON(nil, out.Value))
	}
	if got != want {
		t.Errorf("result = %s, want %s", got, want)
	}
	if diff := cmp.Diff(log, s.log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	for _, w := range s.wrong {
		t.Error(w)
	}
}

const (
	opened   = `open Worker "go" `
	started  = `emit listen:start {"host":"Worker"}`
	complete = `emit listen:complete {"host":"Worker","duration_ms":5}`
)

func failed(message string) string {
	return `emit listen:error {"host":"Worker","duration_ms":5,"error":` + string(value.AppendString(nil, message)) + `}`
}

// failedDropping returns the log entry failed for a host that had sent requests which received no
// answer.
func failedDropping(message string, requests int) string {
	return fmt.Sprintf(`%s,"dropped_requests":%d}`, strings.TrimSuffix(failed(message), "}"), requests)
}

// TestListenResult checks that a result message ends the loop. The Ok contains its payload, with
// partial_output if partial messages arrived. A progress message without a handler is reported as
// unhandled.
func TestListenResult(t *testing.T) {
	newListening().play(t, newStage(`
		< {"type":"result","text":"done","n":1}`),
		`[{"ok":{"text":"done","n":1}},null]`, started, opened, "close ", complete)
	newListening().play(t, newStage(`
		< {"type":"partial","text":"a"}
		< {"type":"partial","chunk":"b"}
		< {"type":"result"}`),
		`[{"ok":{"partial_output":"ab"}},null]`, started, opened, "close ", complete)
	newListening().play(t, newStage(`
		< {"type":"progress","message":"m"}
		< {"type":"result","text":"x"}`),
		`[{"ok":{"text":"x"}},null]`, started, opened, `emit listen:unhandled {"host":"Worker","type":"progress","message":{"message":"m"}}`, "close ", complete)
}

// TestListenHandlers checks that handlers run one at a time in the frame of the function and can
// read its registers. The host receives a handler's value unless the value is nil. For Ok(v) the
// host receives v.
func TestListenHandlers(t *testing.T) {
	const count = "Move r10 r2\nJumpNotNil r10 @more\nLoadConst r10 k1\n@more: AnyBinary r2 r10 r10 0\n"
	l := newListening(
		"progress", count+"LoadNil r11\nBlockEnd r11",
		"question", "BlockEnd r9",
		"ok", "LoadConst r10 k1\nNewOk r10 r10\nBlockEnd r10",
		"oknil", "LoadNil r10\nNewOk r10 r10\nBlockEnd r10",
		"tool_call", "LoadNil r10\nNewOk r10 r10\nBlockReply r10",
		"approval", "LoadConst r10 k1\nNewErr r10 r10\nBlockReply r10",
	)
	l.int(3)
	l.play(t, newStage(`
		< {"type":"progress"}
		< {"type":"progress"}
		< {"type":"question","id":"q1","question":"?"}
		> question "q1" {"id":"q1","question":"?"}
		< {"type":"ok"}
		< {"type":"oknil"}
		> ok  3
		< {"type":"tool_call","id":7}
		> tool_call 7 null
		< {"type":"approval","id":8}
		> approval 8 error 3
		< {"type":"result"}`),
		`[{"ok":{}},12]`, started, opened, `reply question "q1" {"id":"q1","question":"?"}`, "reply ok  3", "reply tool_call 7 null",
		"reply approval 8 error 3", "close ", complete)
}

// TestListenHostError checks that an error message results in an Err(HostError) with the message's
// fields. A failed exchange results in the exchange's error, after the messages that arrived before
// the failure.
func TestListenHostError(t *testing.T) {
	newListening().play(t, newStage(`
		< {"type":"error","message":"no disk","code":"E1","recoverable":false}`),
		`[{"err":{"message":"no disk","kind":"HostError","code":"E1","recoverable":false,"host":"Worker"}},null]`,
		started, opened, "close ", failed("no disk"))
	l := newListening("progress", "LoadConst r2 k0\nLoadNil r10\nBlockEnd r10")
	l.play(t, newStage(`
		< {"type":"progress"}
		! HostError host exited without result`),
		`[{"err":{"message":"host exited without result","kind":"HostError","host":"Worker"}},"go"]`,
		started, opened, "close ", failed("host exited without result"))
	newListening().play(t, newStage(`! HostError cannot start`),
		`[{"err":{"message":"cannot start","kind":"HostError","host":"Worker"}},null]`, started, opened, failed("cannot start"))
}

// TestListenUnhandled checks that a host that awaits an answer receives one even if the program has
// no handler for the message.
func TestListenUnhandled(t *testing.T) {
	unhandled := func(typ string) string {
		return `emit listen:unhandled {"host":"Worker","type":"` + typ + `","message":{"id":1}}`
	}
	newListening().play(t, newStage(`
		< {"type":"question","id":1}
		> question 1 error nothing handles question messages, and no person can be asked
		< {"type":"approval","id":1}
		> approval 1 error nothing handles approval messages, and no person can be asked
		< {"type":"tool_call","id":1}
		> tool_call 1 error nothing handles tool_call messages
		< {"type":"log","id":1}
		< {"type":"result"}`),
		`[{"ok":{}},null]`, started, opened,
		unhandled("question"), "reply question 1 error nothing handles question messages, and no person can be asked",
		unhandled("approval"), "reply approval 1 error nothing handles approval messages, and no person can be asked",
		unhandled("tool_call"), "reply tool_call 1 error nothing handles tool_call messages",
		unhandled("log"), "close ", complete)
	l := newListening()
	l.Hosts[0].Config = []byte(`{"question_default":{"a":1},"approval_default":"no"}`)
	l.play(t, newStage(`
		< {"type":"question","id":1}
		> question 1 {"a":1}
		< {"type":"approval","id":1}
		> approval 1 "no"
		< {"type":"result"}`),
		`[{"ok":{}},null]`, started, opened, unhandled("question"), `reply question 1 {"a":1}`,
		unhandled("approval"), `reply approval 1 "no"`, "close ", complete)
}

// TestListenInvalid checks that a message must fit the type of its handler's parameter. If it does
// not, a host that awaits an answer receives an error.
func TestListenInvalid(t *testing.T) {
	l := newListening("question:Q", "FieldBool r10 r9 0\nField r10 r9 0\nBlockEnd r10", "note:Q", "LoadNil r10\nBlockEnd r10")
	l.play(t, newStage(`
		< {"type":"note","question":1}
		< {"type":"question","id":"a","question":1}
		> question "a" error invalid question: question: expected String, got 1
		< {"type":"question","id":"b","question":"x","more":true}
		> question "b" "x"
		< {"type":"result"}`),
		`[{"ok":{}},null]`, started, opened,
		`emit listen:invalid {"host":"Worker","type":"note","message":{"question":1},"error":"question: expected String, got 1"}`,
		`emit listen:invalid {"host":"Worker","type":"question","message":{"id":"a","question":1},"error":"question: expected String, got 1"}`,
		`reply question "a" error invalid question: question: expected String, got 1`, `reply question "b" "x"`, "close ", complete)
}

// TestListenHandlerErrors checks errors that leave a handler: an error thrown in the handler or in
// a function that it calls, a fault, or an Err that the handler returns. The exchange is cancelled,
// and the listen results in an Err that contains the error with its type. Regions inside the
// handler catch the error first. Regions around the listen do not catch it.
func TestListenHandlerErrors(t *testing.T) {
	for name, code := range map[string]string{
		"throw":         "LoadConst r10 k1\nThrow r10",
		"callee":        "Call r10 f1\nBlockEnd r10",
		"err":           "LoadConst r10 k1\nNewErr r10 r10\nBlockEnd r10",
		"err in region": "@a: LoadConst r10 k1\nNewErr r10 r10\nBlockEnd r10\n@b: LoadNil r11\nBlockEnd r11\ncatch @a @b @b r12",
	} {
		t.Run(name, func(t *testing.T) {
			l := newListening("question", code)
			l.str("bad")
			l.fn("thrower() Full 3", "LoadConst r1 k1\nThrow r1")
			l.Functions[0].Block = assemble(`
				LoadNil r2
				LoadHost r6 d0
				LoadConst r7 k0
				LoadNil r8
				@a: ListenBegin r5 l0
				@b: Move r1 r5
				NewTuple r1 r1 2
				Return r1
				@c: Return r3
				catch @a @b @c r3`)
			l.play(t, newStage("< {\"type\":\"question\"}\nhang"), `[{"err":"bad"},null]`, started, opened, "close bad", failed("bad"))
		})
	}
	l := newListening("question", "Fault k1")
	l.str("bad")
	l.play(t, newStage("< {\"type\":\"question\"}\nhang"), `[{"err":{"message":"bad","kind":"RuntimeError"}},null]`, started, opened, "close bad", failed("bad"))
	l = newListening("question", "@a: Call r10 f1\n@b: BlockEnd r10\n@c: BlockEnd r11\ncatch @a @b @c r11")
	l.str("bad")
	l.fn("thrower() Full 3", "LoadConst r1 k1\nThrow r1")
	l.play(t, newStage(`
		< {"type":"question"}
		> question  "bad"
		< {"type":"result"}`), `[{"ok":{}},null]`, started, opened, `reply question  "bad"`, "close ", complete)
	l = newListening("question", "LoadConst r10 k1\nPanic r10")
	l.str("over")
	l.play(t, newStage("< {\"type\":\"question\"}\nhang"), "uncaught over", started, opened, "close over")
}

// TestListenWithdraw checks that a withdrawal cancels a parked handler and that no region catches
// the cancellation. The host receives no reply, and the loop continues. If the message is still
// queued or already answered, the host receives no reply either.
func TestListenWithdraw(t *testing.T) {
	slow := "@a: LoadConst r11 k1\nPerform r10 1 0 k2\n@b: LoadConst r10 k0\n@c: BlockEnd r10\ncatch @a @b @c r10"
	l := newListening("question", "Call r10 f1\nBlockEnd r10", "progress", "BlockEnd r9")
	l.int(5000)
	l.str("sleep")
	l.fn("slow() Full 13", strings.Replace(slow, "BlockEnd", "Return", 1))
	l.play(t, newStage(`
		< {"type":"question","id":"q1"}
		< {"type":"question","id":"q2"}
		@ sleep
		< {"type":"withdraw","id":"q2"}
		< {"type":"withdraw","id":"q1"}
		< {"type":"withdraw","id":"q1"}
		< {"type":"progress","n":1}
		> progress  {"n":1}
		< {"type":"result"}`),
		`[{"ok":{}},null]`, started, opened, `reply progress  {"n":1}`, "close ", complete)
}

// TestListenQuestionTimeout checks a question that the program does not answer in time. The host
// receives the default answer or an error, and the exchange continues.
func TestListenQuestionTimeout(t *testing.T) {
	for _, c := range []struct{ def, reply string }{{"", "error question timed out after 7 seconds"}, {`,"question_default":"d"`, `"d"`}} {
		l := newListening("question", "LoadConst r11 k0\nAwaitEmit r10 1\nBlockEnd r10")
		l.Hosts[0].Config = []byte(`{"question_timeout":7` + c.def + `}`)
		s := newStage(`
			< {"type":"question","id":1}
			> question 1 ` + c.reply + `
			< {"type":"result"}`)
		s.expire = true
		l.play(t, s, `[{"ok":{}},null]`, started, opened, "ask go ", "reply question 1 "+c.reply, "close ", complete)
	}
	// the handler answers in time, so that the end of the handler cancels the timer
	l := newListening("question", "LoadConst r10 k0\nBlockEnd r10")
	l.Hosts[0].Config = []byte(`{"question_timeout":7}`)
	l.play(t, newStage(`
		< {"type":"question"}
		> question  "go"
		< {"type":"result"}`), `[{"ok":{}},null]`, started, opened, `reply question  "go"`, "close ", complete)
}

// TestListenTimeout checks that the timeout of an exchange ends a waiting handler.
func TestListenTimeout(t *testing.T) {
	l := newListening("question", "LoadConst r11 k0\nAwaitEmit r10 1\nBlockEnd r10")
	l.play(t, newStage(`
		< {"type":"question"}
		@ ask
		! HostError/timeout host 'Worker' timed out after 1 second`),
		`[{"err":{"message":"host 'Worker' timed out after 1 second","kind":"HostError","code":"timeout","host":"Worker"}},null]`,
		started, opened, "ask go ", "close ", failedDropping("host 'Worker' timed out after 1 second", 1))
}

// TestListenLost checks that the exit of a host ends the waiting handler. Messages that the host
// sent before its exit are handled, except those that need an answer. After a missed heartbeat no
// further message is handled.
func TestListenLost(t *testing.T) {
	l := newListening("question", "LoadConst r11 k0\nAwaitEmit r10 1\nBlockEnd r10")
	play := func(failure string) *stage {
		return newStage(`
		< {"type":"question"}
		@ ask
		< {"type":"progress","n":1}
		< {"type":"approval"}
		< {"type":"question","id":2}
		< {"type":"log"}
		` + failure)
	}
	const dead = "host exited without result"
	l.play(t, play("! HostError "+dead), `[{"err":{"message":"`+dead+`","kind":"HostError","host":"Worker"}},null]`,
		started, opened, "ask go ",
		`emit listen:unhandled {"host":"Worker","type":"progress","message":{"n":1}}`,
		`emit listen:unhandled {"host":"Worker","type":"log","message":{}}`,
		"close ", failedDropping(dead, 3))
	const silent = "host 'Worker' sent nothing for 1 seconds"
	l.play(t, play("! HostError/heartbeat "+silent), `[{"err":{"message":"`+silent+`","kind":"HostError","code":"heartbeat","host":"Worker"}},null]`,
		started, opened, "ask go ", "close ", failedDropping(silent, 3))
}

// TestListenReplyLost checks a reply that fails because the host has exited. Messages that need no
// answer are still handled. A later question is dropped. After a timeout no message is handled.
func TestListenReplyLost(t *testing.T) {
	const dead = "host exited without result"
	l := newListening("question", "LoadConst r10 k0\nBlockEnd r10")
	s := newStage(`
		< {"type":"question"}
		< {"type":"progress","n":1}
		> question  "go"
		< {"type":"approval"}
		< {"type":"log"}
		! HostError ` + dead)
	s.exit = "! HostError " + dead
	l.play(t, s, `[{"err":{"message":"`+dead+`","kind":"HostError","host":"Worker"}},null]`,
		started, opened, `reply question  "go"`,
		`emit listen:unhandled {"host":"Worker","type":"progress","message":{"n":1}}`,
		`emit listen:unhandled {"host":"Worker","type":"log","message":{}}`,
		"close ", failedDropping(dead, 2))
	const late = "host 'Worker' timed out after 1 second"
	s = newStage(`
		< {"type":"question"}
		< {"type":"progress","n":1}
		hang`)
	s.exit = "! HostError/timeout " + late
	l.play(t, s, `[{"err":{"message":"`+late+`","kind":"HostError","code":"timeout","host":"Worker"}},null]`,
		started, opened, `reply question  "go"`, "close ", failedDropping(late, 1))
}

// TestListenNested checks a handler that itself listens. An error in a handler of the inner listen
// becomes the inner listen's Err. A withdrawal of the outer message closes the inner exchange.
func TestListenNested(t *testing.T) {
	nested := func() *listening {
		l := newListening("question", `
			LoadHost r11 d0
			LoadConst r12 k0
			LoadNil r13
			ListenBegin r10 l1
			BlockEnd r10`)
		l.str("bad")
		l.Functions[0].Listens = append(l.Functions[0].Listens, ir.ListenInfo{Host: 0, Handlers: []ir.Handler{
			{Type: "stop", Param: 14, Schema: -1, Block: assemble("LoadConst r15 k1\nThrow r15")},
			{Type: "ask", Param: 14, Schema: -1, Block: assemble("LoadConst r16 k0\nAwaitEmit r15 1\nBlockEnd r15")},
		}})
		return l
	}
	nested().play(t, newStage(`
		< {"type":"question","id":1}
		> question 1 {"inner":true}
		< {"type":"result","outer":true}`, `
		< {"type":"result","inner":true}`),
		`[{"ok":{"outer":true}},null]`, started, opened, started, opened, "close ", complete, `reply question 1 {"inner":true}`, "close ",
		strings.Replace(complete, ":5}", ":15}", 1))
	nested().play(t, newStage("< {\"type\":\"question\",\"id\":1}\nhang", "< {\"type\":\"stop\"}\nhang"),
		`[{"err":"bad"},null]`, started, opened, started, opened, "close bad", failed("bad"), "close bad", strings.Replace(failed("bad"), ":5,", ":15,", 1))
	nested().play(t, newStage(`
		< {"type":"question","id":1}
		@ ask
		< {"type":"withdraw","id":1}
		< {"type":"result","outer":true}`, "< {\"type\":\"ask\"}\nhang"),
		`[{"ok":{"outer":true}},null]`, started, opened, started, opened, "ask go ", "close cancelled",
		`emit listen:error {"host":"Worker","duration_ms":5,"error":"cancelled","kind":"cancelled"}`, "close ", strings.Replace(complete, ":5}", ":15}", 1))
}

// TestListenRunCancelled checks a cancelled run. The exchange is closed with a context that has not
// ended, and no region catches the cancellation.
func TestListenRunCancelled(t *testing.T) {
	l := newListening("question", "@a: LoadConst r11 k0\nAwaitEmit r10 1\n@b: BlockEnd r10\ncatch @a @b @b r10")
	s := newStage("< {\"type\":\"question\"}\nhang")
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("interrupted")
	m, err := New(Config{Program: &l.Program, Performer: effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
		if _, ok := r.(*effect.AwaitEmit); ok {
			cancel(stop)
		}
		if _, ok := r.(*effect.ExchangeClose); ok && ctx.Err() != nil {
			t.Error("the exchange was closed with a context that has ended")
		}
		return s.Perform(ctx, r)
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(ctx); err != stop {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{started, opened, "ask go ", "close cancelled"}, s.log); diff != "" {
		t.Error(diff)
	}
}

// TestListenPerformerError checks that an error which the program cannot catch ends the run and
// closes the exchange.
func TestListenPerformerError(t *testing.T) {
	newListening("a", "BlockEnd r9").play(t, newStage("< {\"type\":\"b\"}"), "ended the script of exchange 0 has ended",
		started, opened, `emit listen:unhandled {"host":"Worker","type":"b","message":{}}`, "close cancelled")
}

// TestListenExecuteMode checks a listen in Execute mode, which the library's default loop uses. It
// emits listen events only for unhandled messages, and sends the schema and the context.
func TestListenExecuteMode(t *testing.T) {
	l := newListening("progress", "LoadNil r10\nBlockEnd r10")
	l.Functions[0].Listens[0].Execute = true
	l.Natives = []string{"host.with"}
	l.str("S")
	l.Functions[0].Block = assemble(`
		LoadHost r6 d0
		LoadConst r7 k1
		LoadConst r8 k1
		CallNative r5 3 0 n0
		Move r6 r5
		LoadConst r7 k0
		LoadNil r8
		ListenBegin r5 l0
		Return r5`)
	l.play(t, newStage(`
		< {"type":"progress"}
		< {"type":"other"}
		< {"type":"result"}`),
		`{"ok":{}}`, `open Worker "go" "S"S`, `emit listen:unhandled {"host":"Worker","type":"other","message":{}}`, "close ")
}

// TestListenImplicit checks that the implicit handler, which dispatches tool calls, runs only if
// the host has tools. It never runs if the program has a handler for the message type.
func TestListenImplicit(t *testing.T) {
	const dispatch = "LoadConst r10 k0\nNewOk r10 r10\nBlockReply r10"
	play := func(tools []int, reply string, log []string, handlers ...string) {
		t.Helper()
		l := newListening(handlers...)
		l.int(1)
		state := l.typ(ir.TypeInfo{Kind: "tool", Name: "T"})
		l.fn("init() Full 3", "NewTuple r1 r1 0\nReturn r1")
		l.Tools = []ir.Tool{{Name: "T", State: state, Init: 1}}
		l.Hosts[0].Tools = tools
		l.play(t, newStage(`
			< {"type":"tool_call","id":1}
			> tool_call 1 `+reply+`
			< {"type":"result"}`), `[{"ok":{}},null]`, append(append([]string{started, opened}, log...), "close ", complete)...)
	}
	play([]int{0}, `"go"`, []string{`reply tool_call 1 "go"`}, "tool_call:implicit", dispatch)
	play(nil, "error nothing handles tool_call messages", []string{
		`emit listen:unhandled {"host":"Worker","type":"tool_call","message":{"id":1}}`,
		"reply tool_call 1 error nothing handles tool_call messages"}, "tool_call:implicit", dispatch)
	play([]int{0}, "1", []string{"reply tool_call 1 1"}, "tool_call:implicit", dispatch, "tool_call", "LoadConst r10 k1\nBlockEnd r10")
}

// TestListenFlood checks the queue while a handler waits. The queue is limited in number and in
// size of messages. When a limit is reached, the VM requests no more messages. The program receives
// all messages in order.
func TestListenFlood(t *testing.T) {
	t.Run("many", func(t *testing.T) { testFlood(t, 256, nil, queueLimit) })
	t.Run("large", func(t *testing.T) { testFlood(t, 2, make([]byte, 1<<20), queueBytes>>20) })
}

// testFlood sends batches of batch messages. Each message has the given text. At most limit
// messages may be queued.
func testFlood(t *testing.T, batch int, text []byte, limit int) {
	const batches = 40
	l := newListening("n", "AnyField r10 r9 k2\nJumpNotNil r2 @more\nLoadConst r11 k0\nAwaitEmit r10 1\nAnyField r10 r9 k2\n@more: Move r2 r10\nEmit r2 r2\nLoadNil r10\nBlockEnd r10")
	l.int(0)
	l.str("n")
	sent := 0
	var n atomic.Int64
	asked := make(chan struct{})
	bounded := make(chan struct{})
	performer := effect.PerformerFunc(func(ctx context.Context, r effect.Request) (effect.Result, error) {
		switch r := r.(type) {
		case *effect.ExchangeOpen:
			return &effect.ExchangeOpened{}, nil
		case *effect.Clock:
			return &effect.Time{}, nil
		case *effect.AwaitEmit:
			close(asked)
			<-bounded
			return &effect.Answer{Value: json.RawMessage("1")}, nil
		case *effect.Emit:
			if r.Channel != "listen:start" && r.Channel != "listen:complete" {
				if want := string(value.AppendJSON(nil, value.String(strings.Repeat("x", int(n.Load()%7))))); string(r.Payload) != want {
					t.Errorf("message %d = %s, want %s", n.Load(), r.Payload, want)
				}
				n.Add(1)
			}
		case *effect.ExchangeNext:
			if waits := sent*batch - int(n.Load()); waits > limit {
				t.Errorf("the VM requested more messages while %d are queued", waits)
			}
			if sent > 0 && sent < 2 {
				<-asked // the first handler now waits
			}
			out := &effect.ExchangeMessages{}
			for i := range batch {
				m := value.NewMap(1)
				m.SetString("n", value.String(strings.Repeat("x", (sent*batch+i)%7)))
				out.Messages = append(out.Messages, effect.HostMessage{Type: "n", Payload: m.Slot(), Text: text})
			}
			if sent++; sent == batches {
				out.Messages = append(out.Messages, effect.HostMessage{Type: "result", Payload: value.NewMap(0).Slot()})
			}
			if sent*batch > limit && (sent-1)*batch <= limit {
				close(bounded)
			}
			return out, nil
		}
		return nil, nil
	})
	if _, err := l.run(t, Config{Performer: performer}); err != nil {
		t.Fatal(err)
	}
	if n.Load() != int64(batch*batches) {
		t.Errorf("the program received %d messages", n.Load())
	}
}

// TestListenWithdrawBetweenWaits checks a handler whose message is withdrawn between two of its
// waits, just before the second wait begins. The handler must not wait forever.
func TestListenWithdrawBetweenWaits(t *testing.T) {
	l := newListening("question", "LoadConst r11 k1\nPerform r10 1 0 k2\nLoadConst r11 k0\nAwaitEmit r10 1\nBlockEnd r10")
	l.int(5000)
	l.str("sleep")
	w := &betweenWaits{}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := l.runIn(ctx, t, Config{Performer: w})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(value.AppendJSON(nil, out.Value)); got != `[{"ok":{}},null]` || w.replies != 0 {
		t.Errorf("result = %s with %d replies, which is unexpected", got, w.replies)
	}
}

// betweenWaits is a performer with one host. The host asks a question, and withdraws it when the
// sleep of the question's handler ends.
type betweenWaits struct {
	nexts, replies int
	awake          func(effect.Result, error)
}

func (w *betweenWaits) Perform(_ context.Context, r effect.Request) (effect.Result, error) {
	switch r.(type) {
	case *effect.ExchangeOpen:
		return &effect.ExchangeOpened{}, nil
	case *effect.ExchangeNext:
		return w.next(), nil
	case *effect.ExchangeReply:
		w.replies++
	case *effect.Clock:
		return &effect.Time{}, nil
	}
	return nil, nil
}

func (w *betweenWaits) next() *effect.ExchangeMessages {
	w.nexts++
	out := &effect.ExchangeMessages{}
	for _, typ := range [][]string{{"question"}, {"withdraw", "result"}}[w.nexts-1] {
		out.Messages = append(out.Messages, effect.HostMessage{Type: typ, ID: "1", Payload: value.NewMap(0).Slot()})
	}
	return out
}

// Start performs requests on the run's goroutine, so that their order is fixed.
func (w *betweenWaits) Start(_ context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	stop = func() {}
	switch r.(type) {
	case *effect.Sleep:
		w.awake = done
	case *effect.ExchangeNext:
		if w.awake != nil {
			w.awake(nil, nil)
			w.awake = nil
		}
		done(w.next(), nil)
	case *effect.AwaitEmit:
		stop = func() { done(nil, context.Canceled) }
	default:
		done(w.Perform(context.Background(), r))
	}
	return stop, true
}
