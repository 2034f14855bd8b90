package hosttest

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
)

var endRules = []rule{
	{"H40", "A host that exits before its terminal message fails the exchange with `host exited without result: ` and how it ended; the error has `exit_code` (128 plus the number, if a signal terminated it) and, in `stderr`, the last lines of its standard error.", exits},
	{"H41", "Its earlier messages that need no answer are handled first. A request that waits for an answer when the exit is detected is dropped: its handler is cancelled, or never runs. `listen:error` has their number as `dropped_requests`.", outputBeforeExit},
	{"H42", "A host that closes its output and continues to run has a second to exit; then the exchange fails as if it had exited, and the process is terminated.", closesOutput},
	{"H43", "The timeout, 120 seconds if none is set (1800 for a vendor's agent), covers the whole exchange, from prompt to terminal message, however many messages the host sends in between. The error is `host '<name>' timed out after N seconds`.", timesOut},
	{"H44", "At the timeout the program continues at once. A host with the capability `cancel` gets `cancel` and has a second; then its process group gets SIGTERM, and SIGKILL five seconds later.", cancelledAtTimeout},
	{"H45", "When the program ends an exchange early, a host with the capability `cancel` gets `{\"type\":\"cancel\",\"reason\":\"…\"}`. If it sends its terminal message, which is dropped like all others, within `cancel_grace` (five seconds), it is reused for the next exchange; otherwise it is terminated.", cancelled},
	{"H46", "Without that capability the process group gets SIGTERM, and SIGKILL five seconds later.", signalled},
	{"H47", "The program does not wait until a host is cancelled or terminated; only the next exchange with it does.", notAwaited},
	{"H48", "When the run ends during an exchange, for example by Ctrl-C, a host with the capability `cancel` gets `cancel` and has half a second; then it is terminated like the others.", runEnds},
}

var decidedRules = []rule{
	{"H51", "An approval that the host's `permissions` in the manifest decide is answered as soon as it is read, with \"yes\" or with `denied by [hosts.<section>.permissions]`, even while the program handles another message; the program does not see it.", decided},
}

func decided(w *world) {
	c := w.worker(`
read
< {"type":"progress"}
< {"type":"approval","id":1,"description":"list","kind":"execute","args":{"command":"ls"}}
> {"type":"response","in_reply_to":"approval","answer_to":1,"value":"yes"}
< {"type":"approval","description":"remove","kind":"execute","args":{"command":"rm x"}}
> {"type":"response","in_reply_to":"approval","value":"denied by [hosts.worker.permissions]"}
write answered yes
< {"type":"approval","id":"a","description":"else","kind":"execute","args":{"command":"make"}}
> {"type":"response","in_reply_to":"approval","answer_to":"a","value":"no"}
< {"type":"result","text":"done"}
`)
	c.Access.Permissions = &hostpolicy.Rules{Commands: hostpolicy.Commands{Allow: []string{"ls"}, Deny: []string{"rm *"}}}
	w.start(c)
	x := w.open("go")
	w.await("answered") // although no message was requested
	x.want("progress", "{}")
	for _, want := range []string{
		`{"host":"worker","id":1,"decision":"allow","description":"list","asked":{"id":1,"description":"list","kind":"execute","args":{"command":"ls"}}}`,
		`{"host":"worker","id":null,"decision":"deny","description":"remove","asked":{"description":"remove","kind":"execute","args":{"command":"rm x"}}}`,
	} {
		if m := x.want(effect.Decided, want); !m.Decided {
			w.Errorf("message %s is not marked as decided", want)
		}
	}
	x.reply(x.want("approval", `{"id":"a","description":"else","kind":"execute","args":{"command":"make"}}`), `"no"`)
	x.want("result", `{"text":"done"}`)
	x.close()
}

func exits(w *world) {
	w.start(w.worker(`
read
stderr first line
stderr cannot find the blueprint
exit 7
--- spawn
read
kill KILL
`))
	e := w.open("go").fails()
	if e.Message != "host exited without result: 'worker' exited with status 7: cannot find the blueprint" || e.Fields["exit_code"] != int64(7) || e.Fields["host"] != "worker" ||
		e.Fields["stderr"] != "first line\ncannot find the blueprint" {
		w.Errorf("message = %q, fields = %v, want exit code 7 and the two lines of stderr", e.Message, e.Fields)
	}
	e = w.open("go").fails()
	if _, ok := e.Fields["stderr"]; e.Message != "host exited without result: 'worker' was ended by SIGKILL" || e.Fields["exit_code"] != int64(137) || ok {
		w.Errorf("message = %q, fields = %v, want SIGKILL and exit code 137 without stderr", e.Message, e.Fields)
	}
}

func outputBeforeExit(w *world) {
	w.start(w.worker(`
read
flood 1000 {"type":"progress","i":${i}}
exit 1
`))
	x := w.open("go")
	for range 1000 {
		if _, err := x.next(); err != nil {
			w.Fatal(err)
		}
	}
	x.fails()
}

func closesOutput(w *world) {
	w.start(w.worker(`
read
< {"type":"progress"}
close-stdout
hang
`))
	x := w.open("go")
	x.want("progress", `{}`)
	if e := x.fails(); !strings.HasPrefix(e.Message, "host exited without result") || !strings.Contains(e.Message, "closed its output") {
		w.Errorf("message = %q, want that the host closed its output", e.Message)
	}
}

func timesOut(w *world) {
	c := w.worker(`
read
repeat 1000000
flood 100 {"type":"progress"}
end
`)
	c.Timeout = 1.5
	w.start(c)
	x := w.open("go")
	n := 0
	for {
		_, err := x.next()
		if err != nil {
			if e := w.hostError(err); e.Message != "host 'worker' timed out after 1.5 seconds" || e.Fields["host"] != "worker" {
				w.Errorf("message = %q, fields = %v, want the timeout after 1.5 seconds", e.Message, e.Fields)
			}
			break
		}
		n++
	}
	if n == 0 {
		w.Error("no message came before the timeout")
	}
}

const ackCancel = "read\n< {\"type\":\"init_ack\",\"capabilities\":[\"cancel\"]}\n"

func cancelledAtTimeout(w *world) {
	c := withParams(w, "on-sigterm signalled\n"+ackCancel+`
read
> {"type":"cancel","reason":"timeout"}
write cancelled x
hang
`)
	c.Timeout = 3 // the initialisation must complete in time on a busy machine
	w.start(c)
	x := w.open("go")
	x.fails()
	x.close()
	w.await("cancelled")
	w.await("signalled")
	w.endAsync()()
}

func cancelled(w *world) {
	w.start(withParams(w, ackCancel+`
> {"type":"prompt","text":"one"}
< {"type":"question","id":"q"}
> {"type":"cancel","reason":"enough"}
< {"type":"progress","message":"winding up"}
< {"type":"result","text":"half done"}
> {"type":"prompt","text":"two"}
< {"type":"progress"}
> {"type":"cancel","reason":"cancelled"}
exit 0
--- spawn
`+ackCancel+echo))
	x := w.open("one")
	x.want("question", `{"id":"q"}`)
	x.cancel("enough")
	x = w.open("two")
	x.want("progress", `{}`)
	x.cancel("")
	w.ask("three", "three")
	if n := len(w.spawns("worker")); n != 2 {
		w.Errorf("the host was started %d times, want twice", n)
	}
}

func signalled(w *world) {
	w.start(w.worker(`
on-sigterm signalled
spawn-grandchild child
read
< {"type":"progress"}
hang
`))
	x := w.open("go")
	x.want("progress", `{}`)
	x.close()
	w.await("signalled")
	w.endAsync()()
}

func notAwaited(w *world) {
	w.start(w.worker(`
on-sigterm signalled
read
< {"type":"progress"}
await leave
exit 0
--- spawn
` + echo))
	x := w.open("go")
	x.want("progress", `{}`)
	x.close() // close returns although the host does not exit
	w.await("signalled")
	first := w.spawns("worker")[0]
	if !groupAlive(first) {
		w.Error("the host exited early, so the test proves nothing")
	}
	next := make(chan struct{})
	go func() {
		defer close(next)
		y, err := w.tryOpen(effect.ExchangeOpen{Host: "worker", Prompt: "next"})
		if err != nil {
			w.Error(err)
			return
		}
		if groupAlive(first) {
			w.Error("the next exchange did not wait for the old process")
		}
		if m, err := y.next(); err != nil || payload(m) != `{"text":"next"}` {
			w.Errorf("message of the next exchange = %s (error %v), want text next", m.Text, err)
		}
	}()
	w.make("leave")
	<-next
}

func runEnds(w *world) {
	w.start(withParams(w, "on-sigterm signalled\n"+ackCancel+`
read
< {"type":"progress"}
> {"type":"cancel","reason":"the run is ending"}
write cancelled x
exit 0
`))
	x := w.open("go")
	x.want("progress", `{}`)
	w.end()
	if w.lines("cancelled") == nil || w.lines("signalled") != nil {
		w.Errorf("cancel messages = %v, signals = %v, want a cancel message and no signal", w.lines("cancelled"), w.lines("signalled"))
	}
}
