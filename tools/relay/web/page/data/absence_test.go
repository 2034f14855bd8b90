package data_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/tools/browser"
)

// sendSeqs makes a machine write output events. The text of each is its sequence number and a line
// break.
func sendSeqs(h *servertest.Peer, run string, from, to int64) {
	for seq := from; seq <= to; seq++ {
		h.Send(protocol.RunOutput, run, seq, servertest.Output(fmt.Sprintf("%d\n", seq)))
	}
	h.Acked(run, to)
}

// lines returns the numbers between the bounds, which are included, one per line.
func lines(from, to int64) string {
	var b strings.Builder
	for seq := from; seq <= to; seq++ {
		fmt.Fprintf(&b, "%d\n", seq)
	}
	return b.String()
}

// TestConnectionLosses breaks connections while events arrive. An open page and a reloaded page
// must show each event once and in order, and the events of another run must not interfere.
func TestConnectionLosses(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	sendSeqs(h, "run_a", 2, 20)
	b := r.tab("olga")
	b.Wait("state('run_a').live && watch('run_a').last.value === 20")
	for round := range int64(3) {
		from := 21 + 100*round
		for seq := from; seq < from+50; seq++ {
			h.Send(protocol.RunOutput, "run_a", seq, servertest.Output(fmt.Sprintf("%d\n", seq)))
		}
		if round == 1 {
			b.Reload()
			b.Wait("globalThis.ready && state('run_a')")
		}
		r.stop() // some events were sent to the page, some only stored, and some neither
		r.restart()
		h = r.machine("h1")
		sendSeqs(h, "run_a", from, from+99) // the machine repeats what may be lost
		b.Wait(fmt.Sprintf("state('run_a').live && watch('run_a').last.value === %d", from+99))
		same(t, b, "output('run_a')", lines(2, from+99))
	}
	same(t, b, "watch('run_a').earlier.value.more", false)
}

// TestLongAbsence sends 10,000 events to a page that was absent. The page must stay responsive. A
// newly opened run starts at its end and loads earlier events in pages.
func TestLongAbsence(t *testing.T) {
	browser.Full(t)
	r := start(t)
	h := r.machine("h1")
	h.Begin("run_a")
	sendSeqs(h, "run_a", 2, 10)
	b := r.tab("olga")
	b.Wait("state('run_a').live && watch('run_a').last.value === 10")
	r.cut(b)
	const end = 10_010
	h = r.machine("h1")
	sendSeqs(h, "run_a", 11, end)
	// users notice tasks of 50 ms on an idle machine; load can triple the CPU time of a task
	long := b.Tasks(200*time.Millisecond, func() {
		r.restore(b)
		b.Wait(fmt.Sprintf("state('run_a').live && watch('run_a').last.value === %d", end))
	})
	if len(long) > 0 {
		t.Errorf("longest time without a response of the page = %v", long)
	}
	same(t, b, "output('run_a')", lines(2, end))

	b.Wait("(async () => (await cache.getEvents('run_a')).length === 2000)()")
	other := r.tab("vera")
	other.Wait("state('run_a').live && items('run_a').length > 0")
	same(t, other, "[output('run_a').split('\\n')[0], watch('run_a').earlier.value.more]", []any{fmt.Sprint(end - 499), true})
	other.Eval("(async () => { while (watch('run_a').earlier.value.more) await watch('run_a').loadEarlier(); })()")
	same(t, other, "output('run_a')", lines(2, end))
	same(t, other, "items('run_a')[0].kind + new Set(items('run_a').map((x) => x.key)).size", fmt.Sprint("started", 1+(end/500+1)))
}
