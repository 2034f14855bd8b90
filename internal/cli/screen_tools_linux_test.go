package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const guarded = `
-- Concerto.toml --
[connections.main]
provider = "scripted"
replies = [
  { tool_calls = [{ name = "Bank_pay", args = { amount = 1 } }] },
  { tool_calls = [{ name = "Bank_pay", args = { amount = 2 } }] },
  { tool_calls = [{ name = "Bank_pay", args = { amount = 3 } }] },
  { tool_calls = [{ name = "Bank_close", args = {} }] },
  { tool_calls = [{ name = "Bank_close", args = {} }] },
  { text = "done" },
]
-- main.conc --
tool Bank {
  description: "The bank",
  paid: Int = 0,
  @approve @describe("Pays") pub fn pay(mut self, @param("how much") amount: Int) -> Int { self.paid += amount; self.paid }
  @approve @describe("Closes the account") pub fn close(mut self) -> String { self.paid = 0; "closed" }
}
agent Clerk uses main { tools: [Bank] }
fn main() { println(Clerk.execute("pay")?.text); println("paid ", Bank.pay(0)); }
`

// TestApprovesAtTerminal checks that the user approves tool calls on the terminal in the same way
// as requests of hosts. Permanent approvals are not offered. The audit log must name the user.
func TestApprovesAtTerminal(t *testing.T) {
	r, dir := onTerminal(t, guarded, 70, 40, nil, "run", "-q", "--emit", "none", "--audit", "a.ndjson", "main.conc")
	before := r.Before
	r.AwaitText("Clerk asks to call the tool Bank.pay\n  Pays\n  amount: 1\n[a]llow once [s]ession [d]eny [e]dit [v]iew\n(")
	r.Type("l\r")
	r.AwaitText("enter one of the letters in brackets")
	r.Type("y\r")
	r.AwaitText("amount: 2")
	r.Type("n\r")
	r.AwaitText("denied; enter a reason for the caller, or nothing\n(")
	r.Type("too much\r")
	r.AwaitText("amount: 3")
	r.Type("e\r")
	r.AwaitText(" input> {\"amount\":3}")
	r.Type("\x7f\x7f5}\r")
	r.AwaitText("Clerk asks to call the tool Bank.close\n  Closes the account\n[a]llow once [s]ession [d]eny [e]dit [v]iew\n(")
	r.Type("s\r") // the second is not asked about
	code, s := r.AwaitExit()
	checkTerminal(t, r, before, s)
	if code != 0 || !strings.Contains(s.Text(), "Clerk asks to call the tool Bank.pay\n  Pays\n  denied: too much, at ") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
	log, err := os.ReadFile(filepath.Join(dir, "a.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, line := range strings.Split(string(log), "\n") {
		if _, rest, ok := strings.Cut(line, `"approval":{"actor":{`); ok {
			by, _, _ := strings.Cut(rest, "}")
			_, what, _ := strings.Cut(rest, `"decision":"`)
			what, _, _ = strings.Cut(what, `"`)
			_, args, _ := strings.Cut(rest, `"args":`)
			args, _, _ = strings.Cut(args, ",")
			found = append(found, by+" "+what+" "+args)
		}
	}
	want := `"name":"","type":"human" allow {"amount":1}
"name":"","type":"human" deny {"amount":2}
"name":"","type":"human" allow {"amount":5}
"name":"","type":"human" allow {}
"name":"","type":"session" allow {}`
	if got := strings.Join(found, "\n"); got != want {
		t.Errorf("approvals in the audit log:\n%s\nwant:\n%s", got, want)
	}
}
