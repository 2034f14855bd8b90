//go:build unix

package host_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/runtime/host"
)

// peer is one end of a JSON-RPC connection. It sends requests and checks that each is answered
// exactly once.
type peer struct {
	in   *bufio.Reader
	out  io.Writer
	n    int
	open map[string]bool
	came map[string]json.RawMessage // answers that arrived before the test waits for them, by request ID
}

type rpcLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
	} `json:"error"`
}

func newPeer(in io.Reader, out io.Writer) *peer {
	return &peer{in: bufio.NewReader(in), out: out, open: map[string]bool{}, came: map[string]json.RawMessage{}}
}

// agentFail reports a failure of the agent to the test.
func agentFail(format string, args ...any) {
	_ = os.WriteFile(os.Getenv("AGENT")+".fail", []byte(fmt.Sprintf(format, args...)), 0o600)
	os.Exit(9)
}

func (p *peer) send(v map[string]any) {
	v["jsonrpc"] = "2.0"
	text, err := json.Marshal(v)
	if err == nil {
		_, err = p.out.Write(append(text, '\n'))
	}
	if err != nil {
		agentFail("%v", err)
	}
}

func (p *peer) ask(method string, params any) (id string) {
	p.n++
	p.open[fmt.Sprint(p.n)] = true
	p.send(map[string]any{"id": p.n, "method": method, "params": params})
	return fmt.Sprint(p.n)
}

// read returns the next line. ok is false at the end of the input.
func (p *peer) read() (l rpcLine, ok bool) {
	text, err := p.in.ReadBytes('\n')
	if err != nil {
		return l, false
	}
	if err := json.Unmarshal(text, &l); err != nil {
		agentFail("%s: %v", text, err)
	}
	if l.Method != "" {
		return l, true
	}
	id := string(l.ID)
	if !p.open[id] {
		agentFail("an answer to what was not asked, or is answered: %s", text)
	}
	delete(p.open, id)
	p.came[id] = l.Result
	if l.Error != nil {
		p.came[id] = fmt.Appendf(nil, `"error %d"`, l.Error.Code)
	}
	return l, true
}

// await waits for the answer to the request with the given ID, and decodes its result into the
// given variable.
func (p *peer) await(id string, into any) {
	for p.came[id] == nil {
		if l, ok := p.read(); !ok || l.Method != "" {
			agentFail("%s instead of the answer to %s", l.Method, id)
		}
	}
	if err := json.Unmarshal(p.came[id], into); err != nil {
		agentFail("the answer to %s is %s: %v", id, p.came[id], err)
	}
	delete(p.came, id)
}

func (p *peer) get(method string, params any, into any) { p.await(p.ask(method, params), into) }

func init() { programs["AGENT"] = beAgent }

// beAgent is the main function of an ACP agent. The agent runs commands, accesses files, and calls
// a tool over two connections. One command runs from the first exchange to the last.
func beAgent() {
	file := os.Getenv("AGENT")
	spawns, err := os.OpenFile(file+".spawns", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(err)
	fmt.Fprintf(spawns, "%d %d\n", os.Getpid(), os.Getpid())
	client := newPeer(os.Stdin, os.Stdout)
	var tools [2]*peer
	var fifo *os.File
	var stays string
	turn := 0
	for {
		m, ok := client.read()
		if !ok {
			return
		}
		switch m.Method {
		case "initialize":
			client.send(map[string]any{"id": m.ID, "result": map[string]any{"protocolVersion": 1}})
		case "session/new":
			var p struct {
				Servers []struct{ Args []string } `json:"mcpServers"`
			}
			must(json.Unmarshal(m.Params, &p))
			for i := range tools {
				conn, err := net.Dial("unix", p.Servers[0].Args[2])
				must(err)
				tools[i] = newPeer(conn, conn)
				var listed struct{ Tools []struct{ Name string } }
				tools[i].get("tools/list", nil, &listed)
				if len(listed.Tools) != 1 || listed.Tools[0].Name != "Calc_double" {
					agentFail("the tools are %+v", listed)
				}
			}
			client.send(map[string]any{"id": m.ID, "result": map[string]any{"sessionId": "S"}})
		case "session/prompt":
			if turn == 0 {
				must(syscall.Mkfifo(file+".fifo", 0o600))
				fifo, err = os.OpenFile(file+".fifo", os.O_RDWR, 0)
				must(err)
				stays = open(client, "while read l; do echo got $l; done < "+file+".fifo; exit 9")
			}
			_, err := fmt.Fprintln(fifo, turn)
			must(err)
			work(client, tools, turn)
			if turn++; turn == exchanges {
				must(fifo.Close())
				var want strings.Builder
				for i := range exchanges {
					fmt.Fprintln(&want, "got", i)
				}
				ended(client, client.ask("terminal/wait_for_exit", ofTerminal(stays)), 9)
				written(client, stays, want.String())
			}
			client.send(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": "S",
				"update": map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": "done"}}}})
			client.send(map[string]any{"id": m.ID, "result": map[string]any{"stopReason": "end_turn"}})
		}
	}
}

func open(client *peer, command string) string {
	var opened struct{ TerminalID string }
	client.get("terminal/create", map[string]any{"sessionId": "S", "command": command}, &opened)
	return opened.TerminalID
}

func ofTerminal(id string) any { return map[string]any{"sessionId": "S", "terminalId": id} }

func ended(client *peer, ask string, want int) {
	var exit struct{ ExitCode *int }
	if client.await(ask, &exit); exit.ExitCode == nil || *exit.ExitCode != want {
		agentFail("a command that exits with %d ended by %+v", want, exit)
	}
}

func written(client *peer, id, want string) {
	var got struct{ Output string }
	if client.get("terminal/output", ofTerminal(id), &got); got.Output != want {
		agentFail("a terminal has %q, want %q", got.Output, want)
	}
}

// work performs the agent's work in the exchange with the given number.
func work(client *peer, tools [2]*peer, turn int) {
	double := func(i, n int) string {
		return tools[i].ask("tools/call", map[string]any{"name": "Calc_double", "arguments": map[string]any{"n": n}})
	}
	doubled := func(i int, ask string, n int) {
		var got struct {
			Structured struct{ Result int } `json:"structuredContent"`
		}
		if tools[i].await(ask, &got); got.Structured.Result != 2*n {
			agentFail("two times %d is %d", n, got.Structured.Result)
		}
	}
	command := fmt.Sprintf("echo out %d; echo err >&2; exit %d", turn, turn%5) // the program is asked
	if turn%2 == 0 {
		must(os.WriteFile("script.sh", []byte(command), 0o600))
		command = "sh script.sh" // a rule allows it
	}
	id := open(client, command)
	exit := client.ask("terminal/wait_for_exit", ofTerminal(id))
	a, b := double(0, 10*turn), double(1, 10*turn+1)
	c := double(0, 10*turn+2)
	path := map[string]any{"sessionId": "S", "path": fmt.Sprintf("file%d", turn), "content": fmt.Sprint("text ", turn)}
	var none map[string]any
	client.get("fs/write_text_file", path, &none)
	doubled(0, c, 10*turn+2)
	doubled(0, a, 10*turn)
	doubled(1, b, 10*turn+1)
	var read struct{ Content string }
	if client.get("fs/read_text_file", path, &read); read.Content != path["content"] {
		agentFail("a file has %q", read.Content)
	}
	ended(client, exit, turn%5)
	written(client, id, fmt.Sprintf("out %d\nerr\n", turn))
	client.get("terminal/release", ofTerminal(id), &none)
	var missing string
	if client.get("terminal/output", ofTerminal(id), &missing); missing != "error -32002" {
		agentFail("of a terminal that is released: %s", missing)
	}
}

// TestKilledWithTerminals kills the run of an ACP agent repeatedly. The agent's terminals and its
// connections to the program's tools must survive, and each request must be answered exactly once.
func TestKilledWithTerminals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "worker")
	c := host.Config{Transport: "acp", Command: os.Args[0], Dir: dir, Timeout: 100, Env: map[string]string{"AGENT": file},
		Access: host.Access{Permissions: &hostpolicy.Rules{Read: []string{"."}, Write: []string{"."}, Commands: hostpolicy.Commands{Allow: []string{"sh *"}}}}}
	received := kill(t, dir, c, 25)
	if fail, err := os.ReadFile(file + ".fail"); err == nil {
		t.Errorf("the agent reported: %s", fail)
	}
	if spawns, _ := os.ReadFile(file + ".spawns"); strings.Count(string(spawns), "\n") != 1 {
		t.Errorf("agent starts = %q, want one line", spawns)
	}
	calls := map[string]int{}
	for x, got := range received {
		all := strings.Join(got, "\n")
		want := x % 2
		if x == 0 {
			want = 1 // only for the command that continues to run
		}
		if n := strings.Count(all, `"type":"approval"`); n != want {
			t.Errorf("exchange %d: %d approvals, want %d:\n%s", x, n, want, all)
		}
		for _, one := range got {
			var m struct {
				Type string
				Args struct{ N int }
			}
			if json.Unmarshal([]byte(one), &m) == nil && m.Type == "tool_call" {
				calls[fmt.Sprint(m.Args.N)]++
			}
		}
	}
	for x := range exchanges {
		for i := range 3 {
			if n := calls[fmt.Sprint(10*x+i)]; n != 1 {
				t.Errorf("the tool was called %d times with argument %d, want once", n, 10*x+i)
			}
		}
	}
}

// calc is a tool of the program that the ACP agent calls.
var calc = []effect.ToolSpec{{Name: "Calc_double", Description: "Doubles.", Parameters: json.RawMessage(`{"type":"object"}`)}}

// TestCallsBetweenExchanges sends requests to the tool bridge while no exchange is running. Tool
// calls must be refused, even those that arrived while no Concerto process was connected. Requests
// that need no program must be answered.
func TestCallsBetweenExchanges(t *testing.T) {
	dir := t.TempDir()
	c, file := scriptedHost(t, dir, `
>~ {"method":"initialize"}
< {"id":${.id},"result":{"protocolVersion":1}}
>~ {"method":"session/new"}
< {"id":${.id},"result":{"sessionId":"S"}}
serve
>~ {"method":"session/prompt"}
< {"id":${.id},"result":{"stopReason":"end_turn"}}
end
`)
	c.Transport = "acp"
	exchange := func(h *host.Hosts) {
		t.Helper()
		got, err := h.Perform(t.Context(), request(0, calc...))
		if err != nil {
			t.Fatal(err)
		}
		id := got.(*effect.ExchangeOpened).ID
		if m := next(t, h, id); m.Messages[len(m.Messages)-1].Type != "result" {
			t.Errorf("messages = %+v, want the last one to be a result", m.Messages)
		}
		if _, err := h.Perform(t.Context(), &effect.ExchangeClose{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	h := hostsUnderKeeper(t, dir, 1, c)
	exchange(h)
	input, err := os.ReadFile(file + ".in")
	if err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(string(input), `"host","bridge","`)
	path, _, _ = strings.Cut(path, `"`)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	call := func(id int) {
		t.Helper()
		if _, err := fmt.Fprintf(conn, `{"id":%d,"method":"tools/call","params":{"name":"Calc_double","arguments":{"n":1}}}`+"\n", id); err != nil {
			t.Fatal(err)
		}
	}
	answered := func(id int, want string) {
		t.Helper()
		got, err := in.ReadString('\n')
		if err != nil || !strings.Contains(got, fmt.Sprintf(`"id":%d,`, id)) || !strings.Contains(got, want) {
			t.Errorf("answer to request %d = %s (error %v), want it to contain %s", id, got, err, want)
		}
	}
	call(1)
	answered(1, "no exchange is running")
	h.Suspend()
	call(2)
	fmt.Fprintln(conn, `{"id":3,"method":"tools/list"}`)
	second := hostsUnderKeeper(t, dir, 2, c)
	if err := second.Resume(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	answered(2, "no exchange is running")
	answered(3, "Calc_double")
	second.Suspend()
	third := hostsUnderKeeper(t, dir, 3, c)
	if err := third.Resume(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	call(4)
	answered(4, "no exchange is running") // and nothing else: no request is answered twice
	exchange(third)
	checkHostLog(t, file, 4)
}
