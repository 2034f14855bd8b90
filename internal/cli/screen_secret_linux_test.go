package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAsksSecretAtTerminal checks that the answer to a question for a secret is not shown while it
// is typed, and that neither the journal nor a record of the run contains it.
func TestAsksSecretAtTerminal(t *testing.T) {
	r, dir := onTerminal(t, asksSecret, 100, 20, nil, "run", "-q", "--journal", "job", "--ledger", "l.jsonl", "--wire", "wires", "main.conc")
	before := r.Before
	r.AwaitText("Codex asks (1 of 2): Name?\n>")
	r.Type("Zoe\r")
	r.AwaitText("Codex asks (2 of 2): Code?\n(not shown) >")
	r.Type("q7Z")
	r.Type("\r")
	r.AwaitText("Codex asks: Password?\n(not shown) >")
	r.Type("correct-horse\r")
	code, s := r.AwaitExit()
	checkTerminal(t, r, before, s)
	if text := s.Text(); code != 0 || !strings.Contains(text, "\ndone\n") || strings.Contains(text, "horse") || strings.Contains(text, "q7Z") || !strings.Contains(text, "Password? > (not shown)") {
		t.Errorf("exit code %d, screen:\n%s", code, text)
	}
	records := 0
	err := filepath.WalkDir(dir, func(path string, f os.DirEntry, err error) error {
		if err != nil || !f.Type().IsRegular() || strings.HasPrefix(f.Name(), "codex.host") { // the host's own script and input
			return err
		}
		records++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("horse")) || bytes.Contains(data, []byte("q7Z")) {
			t.Errorf("%s contains a secret:\n%s", f.Name(), data)
		}
		return err
	})
	if err != nil || records < 5 {
		t.Errorf("%d records: %v", records, err)
	}
}

const asksSecret = `
-- Concerto.toml --
[hosts.codex]
transport = "codex"
command = "testhost"
args = ["codex.host"]
-- main.conc --
host Codex { connector: codex }
fn main() {
    let done = listen Codex.execute("go") {
        "question" => |q: HostQuestion| "wrong",
        "approval" => |a: HostApproval| "no",
    };
    println(done?.text);
}
-- codex.host --
read
< {"id":1,"result":{"userAgent":"x/0.171.0"}}
read
read
< {"id":2,"result":{"thread":{"id":"T"}}}
read
< {"id":3,"result":{"turn":{"id":"U"}}}
< {"method":"item/tool/requestUserInput","id":10,"params":{"threadId":"T","turnId":"U","itemId":"i","questions":[{"id":"a","question":"Name?"},{"id":"b","question":"Code?","isSecret":true}]}}
> {"jsonrpc":"2.0","id":10,"result":{"answers":{"a":{"answers":["Zoe"]},"b":{"answers":["q7Z"]}}}}
< {"method":"item/tool/requestUserInput","id":11,"params":{"threadId":"T","turnId":"U","itemId":"j","questions":[{"id":"a","question":"Password?","isSecret":true}]}}
> {"jsonrpc":"2.0","id":11,"result":{"answers":{"a":{"answers":["correct-horse"]}}}}
< {"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"l","text":"done"}}}
< {"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}
`
