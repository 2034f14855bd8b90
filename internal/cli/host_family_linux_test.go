package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// servedHost is a program whose tool uses a host. servedCall and servedCancel are what a client of
// `mcp serve` sends to call the tool, and to cancel the call.
const (
	servedCall = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Work_go","arguments":{}}}
`
	servedCancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n"
	servedHost   = `pub tool Work { description: "Works", @describe("Works") fn go(self) -> String { W.execute("a")? } }` + "\nfn main() {}"
)

// TestFamilyEndsWithHost checks that all processes that a host has started, whatever their process
// group or session is, end when its process ends, while the process that executes the program
// continues.
func TestFamilyEndsWithHost(t *testing.T) {
	const (
		hangs   = family + "< {\"type\":\"progress\",\"message\":\"up\"}\nhang\n"
		answers = family + "< {\"type\":\"progress\",\"message\":\"up\"}\n< {\"type\":\"result\",\"text\":\"done\"}\nhang\n"
		exits   = family + "< {\"type\":\"progress\",\"message\":\"up\"}\nexit 3\n"
		loses   = "fn worked() -> Bool { while !std::fs::exists(\"orphaned\") { std::time::sleep(50); } std::time::sleep(200); true }\n"
		stays   = "std::time::sleep(600000);"
	)
	run := []string{"run", "main.conc"}
	for _, c := range []struct {
		name, host, isolate, program string
		args                         []string
	}{
		{"cancelled call of a server", hangs, "copy", servedHost, []string{"mcp", "serve", "main.conc"}},
		{"cancelled call of a server, not isolated", hangs, "none", servedHost, []string{"mcp", "serve", "main.conc"}},
		{"race", hangs, "copy", loses + "fn main() { let _ = race (W.execute(\"a\").is_ok(), worked()); " + stays + " }", run},
		{"left stream", hangs, "copy", "fn main() { for m in W.stream(\"a\") { if m.type == \"progress\" { println(\"[host:\" + m.type + \"]\"); break; } } " + stays + " }", run},
		// on a busy machine, the host may need several attempts to print a message within its time
		{"timeout", hangs, "copy", "host T { connector: w, timeout: 5, output_format: \"json\" }\nfn main() { let mut up = false; while !up { try { for m in T.stream(\"a\") { if m.type == \"progress\" { up = true; println(\"[host:\" + m.type + \"]\"); } } } catch HostError(e) { println(e.message); } } " + stays + " }", run},
		{"answered", answers, "copy", "fn main() { println(W.execute(\"a\").is_ok()); " + stays + " }", run},
		{"exited", exits, "none", "fn main() { println(W.execute(\"a\").is_ok()); " + stays + " }", run},
		{"durable", hangs, "copy", loses + "fn main() { let _ = race (W.execute(\"a\").is_ok(), worked()); " + stays + " }", append(run, "--journal", "job")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := programs(t, map[string]string{
				"src/.keep": "", "w.host": strings.Replace(c.host, "< {\"type\":\"progress\"", "read\n< {\"type\":\"progress\"", 1),
				"main.conc": "host W { connector: w, timeout: 600, output_format: \"json\" }\n" + c.program,
			})
			manifest := fmt.Sprintf("[hosts.w]\ncommand = \"testhost\"\nargs = [%q]\nworking_dir = \"src\"\nisolate = %q\n", filepath.Join(dir, "w.host"), c.isolate)
			if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(manifest), 0o666); err != nil {
				t.Fatal(err)
			}
			p := command(dir, c.args...)
			in, err := p.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			p.Stdout, p.Stderr = w, w
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			defer func() { _ = p.Wait() }()
			defer func() { _ = p.Process.Kill() }()
			serves := c.args[0] == "mcp"
			if serves {
				_, _ = io.WriteString(in, servedCall)
			}
			lines := bufio.NewScanner(r)
			var output strings.Builder
			for up := false; !up; up = strings.Contains(lines.Text(), "[host:progress]") || lines.Text() == "host 'W': up" {
				if !lines.Scan() {
					t.Fatalf("the command exited before its host printed a message: %s", output.String())
				}
				output.WriteString(lines.Text() + "\n")
			}
			all := family4(t, dir)
			if serves {
				_, _ = io.WriteString(in, servedCancel)
			}
			if left, err := testproc.AwaitExit(outlive, all...); len(left) > 0 || err != nil {
				t.Errorf("processes %v of %v still run (error %v)", left, all, err)
			}
			if len(alive([]int{p.Process.Pid})) == 0 {
				t.Error("the command has exited, too")
			}
		})
	}
}
