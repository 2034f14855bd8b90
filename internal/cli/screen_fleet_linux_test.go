package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/internal/testkit/testterm"
)

// TestLiveManyHosts checks that the hosts of a declaration share a line if there is no room for a
// line each, and have their own lines again after the terminal has become larger.
func TestLiveManyHosts(t *testing.T) {
	const many = `
-- Concerto.toml --
[hosts.coder]
command = "testhost"
args = ["coder.host"]
instances = 20
-- main.conc --
host Coder { connector: "coder", output_format: "json" }
fn main() {
  let all = parallel for _ in 0..12 { Coder.execute("go").unwrap_or("") };
  std::log::info("${all.len()} ended");
}
-- coder.host --
read
< {"type":"progress","message":"works","cost_usd":0.25,"usage":{"tokens_in":900,"tokens_out":100}}
await go
< {"type":"result","text":"done"}
`
	r, dir := onTerminal(t, many, 60, 8, nil, "run", "--emit", "none", "main.conc")
	const joined = "● Coder ×12  $3.00  12k tokens"
	r.AwaitState("one line for twelve hosts", func(s testterm.State) bool {
		return strings.Count(s.Text(), "●") == 1 && strings.Contains(s.Text(), joined)
	})
	r.Resize(60, 20)
	r.AwaitState("a line for each host", func(s testterm.State) bool {
		return strings.Count(s.Text(), "●") == 12 && !strings.Contains(s.Text(), "×")
	})
	releaseHost(t, dir, "go")
	if code, s := r.AwaitExit(); code != 0 || !strings.Contains(s.Text(), "12 exchanges") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
}

// TestLiveQueue checks that a program without hosts shows the state of its merge queue.
func TestLiveQueue(t *testing.T) {
	const queue = `
-- Concerto.toml --
[merge.main]
checked_out = "update"
batch = 2
gate = [["sh", "-c", "until test -e $HOME/go; do sleep 0.01; done; ! test -e bad"]]
retry = 0
-- main.conc --
use std::{fs, merge, work};
fn main() {
  let q = merge::queue("main")?;
  for name in ["a", "bad", "c"] {
    let w = work::open(name)?;
    fs::write_file("${w.dir}/${name}", "x")?;
    w.commit("add ${name}")?;
    q.submit(w)?;
  }
  let report = q.run()?;
  std::log::info("${report.merged.len()} and ${report.failed.len()}");
}
`
	r, dir := onTerminal(t, queue, 80, 10, func(cmd *exec.Cmd) {
		if err := testproc.Repository(cmd.Dir); err != nil {
			t.Fatal(err)
		}
	}, "run", "--emit", "none", "main.conc")
	r.AwaitText("⇢ main  3 queued · gate 2 of 2 · 0 merged · 0 failed")
	releaseHost(t, dir, "go")
	if code, s := r.AwaitExit(); code != 0 || !strings.Contains(s.Text(), "2 and 1") || strings.Contains(s.Text(), "⇢") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
}
