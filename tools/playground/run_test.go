package main

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestStopEndlessLoop(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {\n    println(\"begin\");\n    while true {}\n}\n"})
	b.Eval("void (window.stopped = playground.run())")
	b.Wait("document.querySelector('[data-testid=output]').textContent === 'begin\\n'")
	took := evaluate[float64](t, b, `(async () => {
		const begun = performance.now();
		document.querySelector("[data-testid=stop]").click();
		while (document.querySelector("[data-testid=status]").dataset.state !== "stopped") await new Promise((r) => setTimeout(r));
		return performance.now() - begun;
	})()`)
	if limit := 2 * time.Second; time.Duration(took)*time.Millisecond > limit {
		t.Errorf("the run stopped after %.0f ms", took)
	}
	if r := evaluate[result](t, b, "window.stopped"); r.Code != 130 || r.Stdout != "begin\n" {
		t.Errorf("playground.run() = %+v", r)
	}
	b.Eval("playground.put({'main.conc': 'fn main() { println(2); }'})")
	if r := evaluate[result](t, b, "playground.run()"); r.Code != 0 || r.Stdout != "2\n" {
		t.Errorf("after a stopped run, playground.run() = %+v", r)
	}
}

func TestLimitsOfARun(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {\n    let mut all = [\"\"];\n    while true { all.push(\"x\".repeat(1000000)); }\n}\n"})
	r := evaluate[result](t, b, "playground.run()")
	if r.Code != 1 || !strings.Contains(r.Stderr, "the program's values need more than the 512 MiB that [limits] max_memory_mb allows") {
		t.Errorf("a run with 512 MiB of values: %+v", r)
	}
	b.Eval("playground.put({'main.conc': 'fn main() { while true { println(\"0123456789\".repeat(1000)); } }'})")
	b.Eval("void (window.endless = playground.run())")
	b.See("The output was cut at 1 MiB.")
	b.Click("@stop")
	if r := evaluate[result](t, b, "window.endless"); len(r.Stdout) != 1<<20 {
		t.Errorf("the output has %d bytes", len(r.Stdout))
	}
	// a minute of computation, with a faster clock
	b.Eval("window.slow = setTimeout; window.setTimeout = (f, ms, ...rest) => slow(f, ms === 60000 ? 200 : ms, ...rest)")
	b.Eval("playground.put({'main.conc': 'fn main() { while true {} }'})")
	b.Eval("void (window.endless = playground.run())")
	b.See("The run was stopped: it computed for 60 seconds without a pause.")
	awaitState(b, "stopped")
	// a program that waits does not compute
	b.Eval("window.setTimeout = (f, ms, ...rest) => slow(f, ms === 60000 ? 4000 : ms, ...rest)")
	b.Eval("playground.put({'main.conc': 'use std::time;\\n\\nfn main() { time::sleep(5000); println(\"slept\"); }'})")
	if r := evaluate[result](t, b, "playground.run()"); r.Stdout != "slept\n" {
		t.Errorf("a run that sleeps: %+v", r)
	}
}

// TestTimeZones checks that a run fetches the archive of time zones once, when its program needs a
// zone, and that the program gets an error if the archive cannot be fetched.
func TestTimeZones(t *testing.T) {
	var fetched, missing atomic.Int32
	b, _ := visitVia(t, map[string]string{"main.conc": ""}, func(playground http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/zoneinfo.zip") {
				fetched.Add(1)
				if missing.Load() > 0 {
					http.NotFound(w, r)
					return
				}
			}
			playground.ServeHTTP(w, r)
		})
	})
	in := func(zone string) string {
		return "println(std::time::format(0, \"%H:%M %Z\", " + strconv.Quote(zone) + ")); "
	}
	for _, c := range []struct {
		main, stdout, stderr string
		missing, fetched     int32
	}{
		{in("UTC") + in("+02:00"), "00:00 UTC\n02:00 +02:00\n", "", 0, 0},
		{in("Europe/Berlin") + in("Asia/Tokyo"), "01:00 CET\n09:00 JST\n", "", 0, 1},
		{in("Europe/Nowhere"), "", "unknown time zone \"Europe/Nowhere\"", 0, 2},
		{in("Europe/Berlin"), "", "the time zones could not be read", 1, 3},
	} {
		missing.Store(c.missing)
		b.Eval("playground.put({'main.conc': " + quote("fn main() { "+c.main+"}\n") + "})")
		if r := evaluate[result](t, b, "playground.run()"); r.Stdout != c.stdout || !strings.Contains(r.Stderr, c.stderr) || (r.Code == 0) != (c.stderr == "") {
			t.Errorf("%s: playground.run() = %+v", c.main, r)
		}
		if n := fetched.Load(); n != c.fetched {
			t.Errorf("%s: the archive was fetched %d times, want %d", c.main, n, c.fetched)
		}
	}
}

func TestAwaitedEmit(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {\n    let name = (await emit<String>(\"who\", \"your name?\"))?;\n    println(\"hello \" + name);\n}\n"})
	if b.Count("@answer-value") != 0 {
		t.Error("there is a field for an answer before a run")
	}
	b.Eval("void (window.run = playground.run())")
	awaitState(b, "waiting")
	b.Click("@answer-value")
	b.Type("Ada")
	b.Click("@answer-send")
	awaitState(b, "done")
	r := evaluate[result](t, b, "window.run")
	if r.Stdout != "[who] your name?\nhello Ada\n" || len(r.Emits) != 1 || r.Emits[0].Channel != "who" || r.Emits[0].Payload != "your name?" {
		t.Errorf("playground.run() = %+v", r)
	}
	if b.Count("@answer-value") != 0 {
		t.Error("there is a field for an answer after the run")
	}
	b.Eval("void (window.run = playground.run())")
	awaitState(b, "waiting")
	b.Click("@stop")
	awaitState(b, "stopped")
}

const coder = "[hosts.coder]\ncommand = \"./coder\"\noutput_format = \"json\"\nparams = { depth = 1 }\n"

func TestHostByHand(t *testing.T) {
	b, _ := visit(t, map[string]string{"Concerto.toml": coder, "main.conc": `host Coder { connector: coder }

fn main() {
    let done = listen Coder.execute("tidy up") {
        "question" => |q| { println(q.question); "tabs" },
        "approval" => |a| "no",
    };
    println(done?.text);
}
`})
	b.Click("@run")
	awaitState(b, "waiting")
	b.Wait(`document.querySelector("[data-testid=host-log]").textContent.includes('{"type":"init_ack"}')`)
	b.Wait(`document.querySelector("[data-testid=host-log]").textContent.includes('"text":"tidy up"')`)
	b.Eval(`(() => { const s = document.querySelector(".view.host .say select"); s.value = "question"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	b.Wait(`document.querySelector("[data-testid=host-message]").value.includes("Tabs or spaces?")`)
	b.Click("@host-send")
	b.Wait(`document.querySelector("[data-testid=host-log]").textContent.includes('"value":"tabs"')`)
	b.Click("@host-message")
	selectAll(b)
	b.Paste(`{"type":"result","text":"all tidy"}`)
	b.Click("@host-send")
	awaitState(b, "done")
	if got := b.Text("@output"); !strings.HasPrefix(got, "Tabs or spaces?\n") || !strings.HasSuffix(got, "\nall tidy\n") {
		t.Errorf("output = %q", got)
	}
	// without the acknowledgement the host must acknowledge init itself
	b.Click("@tab-host")
	b.Click(".view.host input[type=checkbox]")
	b.Click("@run")
	awaitState(b, "waiting")
	b.Wait(`document.querySelector("[data-testid=host-log]").textContent.includes('"type":"init"')`)
	if strings.Contains(b.Text("@host-log"), "init_ack") {
		t.Error("init was acknowledged")
	}
	b.Click("@stop")
}

func TestHostByScript(t *testing.T) {
	b, _ := visit(t, map[string]string{
		"Concerto.toml": "[hosts.coder]\ncommand = \"./coder\"\noutput_format = \"json\"\n",
		"main.conc":     "host Coder { connector: coder }\n\nfn main() {\n    match Coder.execute(\"tidy up\") {\n        Ok(text) => println(text),\n        Err(e) => println(\"failed: \" + e.message),\n    }\n}\n",
		"coder.host":    "> {\"type\":\"prompt\",\"text\":\"tidy up\"}\n< {\"type\":\"result\",\"text\":\"tidied up\"}\n",
	})
	if r := evaluate[result](t, b, "playground.run()"); r.Stdout != "tidied up\n" || r.Code != 0 {
		t.Errorf("playground.run() = %+v", r)
	}
	b.Eval("playground.put({...playground.files(), 'coder.host': '> {\"type\":\"prompt\",\"text\":\"other\"}\\n'})")
	if r := evaluate[result](t, b, "playground.run()"); !strings.Contains(r.Stdout, "failed: ") || !strings.Contains(r.Stderr, "coder.host: line 1: >: want") {
		t.Errorf("a host whose input differs from its script: %+v", r)
	}
}

func TestAgents(t *testing.T) {
	files := map[string]string{
		"Concerto.toml": "[connections.main]\nprovider = \"openai\"\napi_key_env = \"OPENAI_API_KEY\"\ndefault_model = \"gpt\"\n",
		"main.conc":     "agent Greeter uses main { system_prompt: \"Be brief.\" }\n\nfn main() {\n    println(Greeter.execute(\"Greet Ada\")?.text);\n}\n",
	}
	b, _ := visit(t, files)
	b.Click("@run")
	awaitState(b, "waiting")
	if got := b.Text("@agent-prompt"); !strings.Contains(got, "Greet Ada") || !strings.Contains(got, "Be brief.") {
		t.Errorf("the prompt of the agent is %q", got)
	}
	b.Click("@agent-reply")
	b.Type("Hello, Ada!")
	b.Click("@agent-send")
	awaitState(b, "done")
	if got := b.Text("@output"); got != "Hello, Ada!\n" {
		t.Errorf("output = %q", got)
	}
	mode := func(name string) {
		b.Click("@tab-agent")
		b.Eval(`(() => { const s = document.querySelector("[data-testid=agent-mode]"); s.value = "` + name + `"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	}
	mode("mock")
	if r := evaluate[result](t, b, "playground.run()"); r.Stdout != "scripted reply to: Greet Ada\n" {
		t.Errorf("with mock replies: %+v", r)
	}
	// a scripted connection needs no user
	mode("hand")
	b.Eval("playground.put({...playground.files(), 'Concerto.toml': '[connections.main]\\nprovider = \"scripted\"\\nreplies = [{ text = \"as written\" }]\\n'})")
	if r := evaluate[result](t, b, "playground.run()"); r.Stdout != "as written\n" {
		t.Errorf("with a scripted provider: %+v", r)
	}
}

func TestWhatIsNotAvailable(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn main() {}\n"})
	for program, want := range map[string]string{
		"use std::http;\n\nfn main() {\n    match http::get(\"https://example.com\") {\n        Ok(r) => println(\"ok\"),\n        Err(e) => println(e.message),\n    }\n}\n":      "the network is not available in the playground",
		"use std::tools::RunCommand;\n\nfn main() {\n    match RunCommand.run(\"ls\", []) {\n        Ok(r) => println(\"ok\"),\n        Err(e) => println(e.message),\n    }\n}\n": "commands are not available in the playground",
	} {
		b.Eval("window.program = " + quote(program))
		b.Eval("playground.put({'main.conc': window.program})")
		r := evaluate[result](t, b, "playground.run()")
		if r.Code != 0 || r.Stdout != want+"\n" {
			t.Errorf("%s: %+v", want, r)
		}
		b.See(want)
		b.Wait(`document.querySelector("[data-testid=notice] a").getAttribute("href").startsWith("about.html#")`)
	}
	b.Eval(`playground.put({"main.conc": "fn main() {}\n", "Concerto.toml": "[dependencies]\ntext = { git = \"https://example.com/text\", tag = \"v1.0.0\" }\n"})`)
	r := evaluate[result](t, b, "playground.run()")
	if r.Code != 2 || r.Stderr != "concerto: packages are not available in the playground\n" {
		t.Errorf("a manifest with dependencies: %+v", r)
	}
}

func TestFilesOfARun(t *testing.T) {
	b, _ := visit(t, map[string]string{
		"main.conc": "use std::fs;\n\nfn main() {\n    let text = fs::read_file(\"in.txt\")?;\n    fs::write_file(\"copy.txt\", text.to_upper())?;\n    println(fs::read_file(\"copy.txt\")?);\n}\n",
		"in.txt":    "from the page",
	})
	r := evaluate[result](t, b, "playground.run()")
	if r.Code != 0 || r.Stdout != "FROM THE PAGE\n" {
		t.Fatalf("playground.run() = %+v", r)
	}
	b.Click(".files .temporary button")
	b.See("FROM THE PAGE")
	if files := evaluate[map[string]string](t, b, "playground.files()"); len(files) != 2 {
		t.Errorf("the files of the page are %v", files)
	}
}

func TestStepByLine(t *testing.T) {
	b, _ := visit(t, map[string]string{"main.conc": "fn double(x: Int) -> Int {\n    let y = x * 2;\n    y\n}\n\nfn main() {\n    let a = double(21);\n    println(\"${a}\");\n}\n"})
	line := func(n string) {
		awaitState(b, "stepping")
		b.Wait("document.querySelector('[data-testid=status]').textContent === 'stopped before line " + n + "'")
	}
	b.Click("@step")
	line("7")
	b.Click("@step")
	line("2")
	b.Click("@step")
	line("3")
	b.See("42") // the value of y
	b.Click("@step")
	line("8")
	if got := b.Text("@output"); got != "" {
		t.Errorf("output before the last line = %q", got)
	}
	b.Click("@run")
	awaitState(b, "done")
	if got := b.Text("@output"); got != "42\n" {
		t.Errorf("output = %q", got)
	}
	b.Click("@step")
	line("7")
	b.Click("@stop")
	awaitState(b, "stopped")
}

func TestDeadWorkers(t *testing.T) {
	b, address := visit(t, nil)
	b.Eval(`localStorage.clear()`)
	b.Go(address + "/about.html")
	b.Eval("sessionStorage.clear()")
	b.Go(address + "/")
	b.Eval("playground.ready.then(() => true)")
	// a worker that reports an error of its script is replaced
	b.Eval(`(() => { const post = Worker.prototype.postMessage; Worker.prototype.postMessage = function (data, ...rest) {
		if (data.call === window.deadly) { window.deadly = ""; queueMicrotask(() => this.dispatchEvent(new ErrorEvent("error", { message: "it crashed", cancelable: true }))); return; }
		post.call(this, data, ...rest); }; })()`)
	b.Eval("window.deadly = 'run'; playground.put({'main.conc': 'fn main() { println(1); }'})")
	if r := evaluate[result](t, b, "playground.run()"); r.Code != 1 {
		t.Errorf("the result of a run whose worker died: %+v", r)
	}
	b.See("The run ended unexpectedly: it crashed")
	if r := evaluate[result](t, b, "playground.run()"); r.Stdout != "1\n" {
		t.Errorf("the run after it: %+v", r)
	}
	b.Eval("window.deadly = 'diagnostics'; playground.put({'main.conc': 'fn main() { let x: Int = \"\"; }'})")
	b.Wait("document.querySelector('.code-editor .mark.error')")
}
