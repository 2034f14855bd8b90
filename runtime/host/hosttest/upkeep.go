package hosttest

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

var upkeepRules = []rule{
	{"H52", "After a start that failed, or whose process died before its first terminal message, the next start waits 100 ms, and after each further one twice as long, at most 5 seconds. After five in a row, a caller gets `host '<name>' failed to start 5 times in a row: …` with the code `crash_loop` at once, for 30 seconds. A completed exchange resets the count.", backsOff},
	{"H53", "With `heartbeat`, a host that sends no line for that long during an exchange, while it does not wait for an answer, fails it with `host '<name>' sent nothing for N seconds` and the code `heartbeat`. It is terminated as at a timeout.", silent},
	{"H54", "With `idle_seconds`, Concerto closes the input of a process that has been idle for that long, as when the run ends.", idleEnds},
}

func backsOff(w *world) {
	w.start(w.worker(`
read
stderr out of paper
exit 3
`))
	began := time.Now()
	for range 5 {
		if e := w.open("go").fails(); e.Message != "host exited without result: 'worker' exited with status 3: out of paper" {
			w.Errorf("message = %q, want the status and the last line of stderr", e.Message)
		}
	}
	if took := time.Since(began); took < 1500*time.Millisecond {
		w.Errorf("five starts took %v, want at least 1.5s", took)
	}
	for range 3 {
		_, err := w.tryOpen(effect.ExchangeOpen{Host: "worker", Prompt: "go"})
		e := w.hostError(err)
		if e.Message != "host 'worker' failed to start 5 times in a row: host exited without result: 'worker' exited with status 3: out of paper" || e.Fields["code"] != "crash_loop" ||
			e.Fields["exit_code"] != int64(3) || e.Fields["stderr"] != "out of paper" || e.Status != effect.None {
			w.Errorf("message = %q, fields = %v, want a crash loop after 5 failures", e.Message, e.Fields)
		}
	}
	if n := len(w.spawns("worker")); n != 5 {
		w.Errorf("the host was started %d times, want 5", n)
	}
}

func silent(w *world) {
	c := w.worker(`
on-sigterm signalled
read
stderr thinking
< {"type":"question","id":1}
read
hang
`)
	c.Heartbeat = 2
	w.start(c)
	x := w.open("go")
	m := x.want("question", `{"id":1}`)
	w.until("the host to write", func() bool { return w.logged("worker: thinking") })
	began := time.Now()
	x.reply(m, `1`)
	e := x.fails()
	if e.Message != "host 'worker' sent nothing for 2 seconds" || e.Fields["code"] != "heartbeat" || e.Fields["stderr"] != "thinking" {
		w.Errorf("message = %q, fields = %v, want the heartbeat error", e.Message, e.Fields)
	}
	if took := time.Since(began); took < 2*time.Second {
		w.Errorf("the exchange failed after %v, want at least 2s", took)
	}
	x.close()
	w.await("signalled")
	w.endAsync()()
}

func idleEnds(w *world) {
	c := w.worker(`
ignore-sigterm
read
< {"type":"result","text":"one"}
eof
write left x
--- spawn
` + echo)
	c.IdleSeconds = 0.2
	w.start(c)
	w.ask("one", "one")
	w.await("left") // on a busy machine the signal must not come before the end of the input
	w.ask("two", "two")
	if n := len(w.spawns("worker")); n != 2 {
		w.Errorf("the host was started %d times, want twice", n)
	}
}
