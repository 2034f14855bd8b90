package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/web/webtest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// busy sends 10 events in each round from `from` to `to`, of all kinds that a thread shows.
func busy(run *webtest.Run, from, to int) {
	for n := from; n < to; n++ {
		id := fmt.Sprintf("t%d", n)
		run.Send(protocol.RunEmit, webtest.Data{"channel": "step", "payload": webtest.Data{"n": n, "files": []string{"a.go", "b.go"}}, "awaited": false})
		run.Send(protocol.ToolCall, webtest.Data{"request_id": id, "tool": "bash", "actor": "local", "args": webtest.Data{"cmd": "go test ./..."}})
		run.Send(protocol.ToolResult, webtest.Data{"request_id": id, "tool": "bash", "actor": "local", "ok": true, "duration_ms": 12, "result": webtest.Data{"exit_code": 0}})
		run.Send(protocol.RunListen, webtest.Data{"listen_id": "l" + id, "host": "Coder", "phase": "start"})
		run.Send(protocol.RunListen, webtest.Data{"listen_id": "l" + id, "host": "Coder", "phase": "complete", "duration_ms": 5})
		for line := range 4 {
			run.Write(fmt.Sprintf("\x1b[32mok\x1b[0m round %d line %d of what the tool has to say\n", n, line))
		}
		run.Send(protocol.RunMeta, webtest.Data{"usage": webtest.Data{"tokens_in": n, "tokens_out": n}})
	}
	run.Stored()
}

// busyMachine is how many times more CPU time the same task may need while other processes use
// the caches and the other threads of the processor. Load has nearly tripled it. TestFigures
// reports the times of an idle machine.
const busyMachine = 4

// smooth is the maximum duration of a task of the page. On an idle machine it is 50 ms: users
// notice that the page does not respond during longer tasks.
const smooth = 50 * time.Millisecond * busyMachine

// TestLongAbsence disconnects the page while a run sends 10,000 events. After the reconnection, the
// page must remain responsive and show the new events. The thread must scroll to its beginning
// without gaps, also after a reload.
func TestLongAbsence(t *testing.T) {
	browser.Full(t)
	browser.Need(t)
	t.Parallel()
	const rounds = 1000
	r := webtest.Start(t)
	machine := r.Machine("desk")
	run := webtest.Begin(machine, "run_1", webtest.Data{"title": "the long one", "tool": "concerto", "source": "concerto"})
	busy(run, 0, 2)
	b := enter(t, r, webtest.Operator, "#/runs/run_1")
	b.Expect("ERR_")
	b.Expect("WebSocket")
	b.Wait("__see.text('@run-thread').includes('round 1 line 3')")
	b.Offline(true)
	r.Stop()
	r.Restart()
	b.Wait("document.querySelector('[data-testid=conn]').dataset.state === 'offline'")
	machine = r.Machine("desk")
	run.Reconnect(machine)
	busy(run, 2, rounds)
	run.Ask("q1", webtest.Data{"prompt": "Go on?"})
	long := b.Tasks(smooth, func() {
		b.Offline(false)
		b.Eval("__see.one('=Try now')?.click()")
		b.Wait(fmt.Sprintf("__see.text('@run-thread').includes('round %d line 3') && __see.all('@approval-card').length === 1 && !__see.text('main').includes('events left')", rounds-1))
	})
	if len(long) > 0 {
		t.Errorf("tasks longer than the limit while the page loads missed events: %v", long)
	}
	box := "document.querySelector('.thread-scroll')"
	scroll := `(async () => {
		const box = ` + box + `;
		for (const step of [-300, -300, -2000, 1200, -20000, 5000, -90000, 60000, -50]) for (let i = 0; i < 6; i++) {
			box.scrollTop += step;
			await new Promise((done) => requestAnimationFrame(done));
		}
	})()`
	if long := b.Tasks(smooth, func() { b.Eval(scroll) }); len(long) > 0 {
		t.Errorf("tasks longer than the limit while the thread is scrolled: %v", long)
	}
	b.Reload()
	b.Wait(fmt.Sprintf("__see.text('@run-thread').includes('round %d line 3') && __see.all('@approval-card').length === 1", rounds-1))
	b.Eval("globalThis.box = " + box)
	b.Wait("(box.scrollTop = 0, box.innerText.includes('started') && box.innerText.includes('round 0 line 0'))") // earlier items are loaded page by page
	items := 1 + 4*rounds + 1                                                                                    // the start; of each round its emit, call, listen and output; the request
	if n := b.Eval("Number(box.querySelector('.thread-row').ariaSetSize)"); n != float64(items) {
		t.Errorf("number of items in the thread = %v, want %d", n, items)
	}
	for at := range 10 { // at each position, the visible rows must follow each other without a gap
		b.Eval(fmt.Sprintf("box.scrollTop = box.scrollHeight * %d / 10", at))
		b.Wait(`(() => {
			const seen = [...box.innerText.matchAll(/round (\d+) line (\d)/g)].map(([, n, line]) => 4 * n + Number(line));
			return seen.length > 3 && seen.every((n, i) => i === 0 || n === seen[i - 1] + 1);
		})()`)
	}
}
