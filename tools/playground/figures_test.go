package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFigures measures what users of the page notice. CONCERTO_BENCH_PLAYGROUND=1 selects it;
// CONCERTO_PLAYGROUND should name a compressed playground. It requires no time, because machines
// differ.
func TestFigures(t *testing.T) {
	if os.Getenv("CONCERTO_BENCH_PLAYGROUND") == "" {
		t.Skip("the environment variable CONCERTO_BENCH_PLAYGROUND is not set")
	}
	hello := map[string]string{"main.conc": "fn main() {\n    println(\"hello\");\n}\n"}
	b, address := visit(t, hello)
	show := func(name string, times []float64) {
		slices.Sort(times)
		t.Logf("%-28s median %.0f ms, fastest %.0f ms, slowest %.0f ms", name, times[len(times)/2], times[0], times[len(times)-1])
	}
	idle := func() { b.Eval("new Promise((r) => setTimeout(r, 1500))") } // the analysis and the next worker warm up
	var ready, first, stop []float64
	for range 5 {
		b.Go("about:blank")
		b.Go(address + "/")
		b.Eval("playground.ready.then(() => true)")
		ready = append(ready, evaluate[float64](t, b, `performance.getEntriesByName("ready")[0].startTime`))
		first = append(first, evaluate[float64](t, b, clickUntil("run", `document.querySelector("[data-testid=output]").textContent === "hello\n"`)))
		awaitState(b, "done")
	}
	idle()
	b.Eval(`playground.put({"main.conc": "fn main() { while true {} }"})`)
	for range 5 {
		b.Eval("void playground.run()")
		b.Eval("new Promise((r) => setTimeout(r, 300))")
		stop = append(stop, evaluate[float64](t, b, clickUntil("stop", `document.querySelector("[data-testid=status]").dataset.state === "stopped"`)))
		idle()
	}
	var program strings.Builder
	for i := range 75 {
		fmt.Fprintf(&program, "fn f%d(x: Int) -> Int {\n    let y = x + %d;\n    y * 2\n}\n", i, i)
	}
	b.Eval("playground.put({'main.conc': " + quote(program.String()+"fn main() { println(\"${f1(1)}\"); }\n") + "})")
	idle()
	typed := evaluate[[]float64](t, b, `(async () => {
		const area = document.querySelector("[data-testid=editor]"), out = [];
		const frame = () => new Promise((r) => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); });
		area.focus();
		area.setSelectionRange(40, 40);
		for (let i = 0; i < 9; i++) {
			const begun = performance.now();
			document.execCommand("insertText", false, "$");
			while (!document.querySelector(".code-editor .mark")) await frame();
			out.push(performance.now() - begun);
			document.execCommand("delete");
			while (document.querySelector(".code-editor .mark")) await frame();
			await new Promise((r) => setTimeout(r, 100));
		}
		return out;
	})()`)
	show("ready after navigation", ready)
	show("hello after the first click", first)
	show("stop of an endless loop", stop)
	show("diagnostics in 300 lines", typed)
}

// clickUntil returns an expression for the milliseconds between a click and a condition.
func clickUntil(button, condition string) string {
	return `(async () => {
		const begun = performance.now();
		document.querySelector("[data-testid=` + button + `]").click();
		while (!(` + condition + `)) await new Promise((r) => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); });
		return performance.now() - begun;
	})()`
}
