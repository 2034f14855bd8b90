package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
)

// said is a message from a run to a host of the storm program, in any of the three protocols.
type said struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	InReplyTo string `json:"in_reply_to"`
	Resumed   *struct {
		Answered said `json:"answered"`
	} `json:"resumed"`

	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Input   []said `json:"input"`
		Prompt  []said `json:"prompt"`
		Servers []struct {
			Args []string `json:"args"`
		} `json:"mcpServers"`
	} `json:"params"`
	Result struct {
		Decision string `json:"decision"`
		Terminal string `json:"terminalId"`
		Exit     *int   `json:"exitCode"`
		Output   string `json:"output"`
		Value    struct {
			Result int `json:"result"`
		} `json:"structuredContent"`
	} `json:"result"`
}

// stormHost runs the host of the storm program that args names: clerk, coder, which speaks Codex's
// protocol, or agent, which speaks ACP. It stores the received messages in a file. It can continue
// an exchange that began in another process of the same host.
func stormHost(args []string) int {
	log, err := os.OpenFile(args[0]+".in", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	spawns, err := os.OpenFile(args[0]+".spawns", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintf(spawns, "%d %d\n", os.Getpid(), os.Getpid())
	hear := clerkHears()
	switch args[0] {
	case "coder":
		hear = coderHears()
	case "agent":
		hear = agentHears()
	}
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		_, _ = log.Write(line)
		var m said
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		hear(&m)
	}
}

func tell(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// clerkHears returns a message handler that sends progress, a question and a request for approval,
// and then the result.
func clerkHears() func(*said) {
	job := ""
	return func(m *said) {
		after := m.InReplyTo
		switch m.Type {
		case "init":
			tell(`{"type":"init_ack","capabilities":["resume"]}`)
			return
		case "prompt":
			job = m.Text
			tell(`{"type":"progress","message":%q,"session":%[1]q}`, job)
			if m.Resumed != nil {
				after = m.Resumed.Answered.Type
			}
		}
		switch after {
		case "":
			tell(`{"type":"question","id":%q,"question":%[1]q}`, job)
		case "question":
			tell(`{"type":"approval","id":%q,"description":%[1]q}`, job)
		case "approval":
			tell(`{"type":"result","text":%q}`, job)
		}
	}
}

var stormTask = regexp.MustCompile(`task \d+\.`)

// coderHears returns a message handler that requests approval of a command, and then completes the
// turn.
func coderHears() func(*said) {
	task, turn := "", 0
	return func(m *said) {
		done := m.Result.Decision != ""
		switch m.Method {
		case "initialize":
			tell(`{"id":%s,"result":{"userAgent":"codex/0.169.0"}}`, m.ID)
			return
		case "thread/start", "thread/resume":
			tell(`{"id":%s,"result":{"thread":{"id":"t1"}}}`, m.ID)
			return
		case "initialized":
			return
		case "turn/start":
			turn++
			text := m.Params.Input[0].Text
			task = stormTask.FindString(text)
			tell(`{"id":%s,"result":{"turn":{"id":"u1","status":"inProgress"}}}`, m.ID)
			tell(`{"method":"item/agentMessage/delta","params":{"threadId":"t1","turnId":"u1","itemId":"m","delta":"Let me look."}}`)
			done = strings.Contains(text, "The answer:")
		}
		if !done {
			tell(`{"method":"item/commandExecution/requestApproval","id":%d,"params":{"threadId":"t1","turnId":"u1","itemId":"c","command":%q,"cwd":"/"}}`, turn, task)
			return
		}
		tell(`{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"agentMessage","id":"m","text":"All done."}}}`)
		tell(`{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed","items":[]}}}`)
	}
}

var stormErrand = regexp.MustCompile(`errand (\d+)\.`)

// agentHears returns a message handler that starts a command in a terminal, calls a tool while the
// command runs, and then requests the command's output. It fails unless each of its requests gets
// exactly one response.
func agentHears() func(*said) {
	var tools net.Conn
	var in *bufio.Reader
	var prompt json.RawMessage
	terminal, id, asked := "", 0, 100
	waits := "" // the method of the request without a response
	fail := func(format string, args ...any) {
		_ = os.WriteFile("agent.fail", fmt.Appendf(nil, format, args...), 0o666)
		os.Exit(9)
	}
	ask := func(method, params string) {
		asked++
		waits = method
		tell(`{"id":%d,"method":"terminal/%s","params":{"sessionId":"S",%s}}`, asked, method, params)
	}
	call := func() {
		var got said
		asked++
		fmt.Fprintf(tools, `{"id":%d,"method":"tools/call","params":{"name":"Notes_note","arguments":{"id":%d}}}`+"\n", asked, id)
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0) // the keeper, which has the other end of the connection, was killed; a resumed run has no response to this call
		}
		err = json.Unmarshal(line, &got)
		if err != nil || string(got.ID) != fmt.Sprint(asked) || got.Result.Value.Result != 2*id {
			fail("errand %d, call %d: %s %v", id, asked, line, err)
		}
	}
	return func(m *said) {
		switch m.Method {
		case "initialize":
			tell(`{"id":%s,"result":{"protocolVersion":1}}`, m.ID)
			return
		case "session/new":
			var err error
			if tools, err = net.Dial("unix", m.Params.Servers[0].Args[2]); err != nil {
				fail("%v", err)
			}
			in = bufio.NewReader(tools)
			tell(`{"id":%s,"result":{"sessionId":"S"}}`, m.ID)
			return
		case "session/prompt":
			prompt = m.ID
			_, _ = fmt.Sscan(stormErrand.FindStringSubmatch(m.Params.Prompt[0].Text)[1], &id)
			ask("create", fmt.Sprintf(`"command":"echo errand %d; exit %d"`, id, id%5))
			return
		}
		if string(m.ID) != fmt.Sprint(asked) {
			fail("errand %d, question %d: it is %s that is answered", id, asked, m.ID)
		}
		switch r := m.Result; waits {
		case "create":
			terminal = r.Terminal
			call()
			ask("wait_for_exit", fmt.Sprintf(`"terminalId":%q`, terminal))
		case "wait_for_exit":
			if r.Exit == nil || *r.Exit != id%5 {
				fail("errand %d ended by %+v", id, r)
			}
			ask("output", fmt.Sprintf(`"terminalId":%q`, terminal))
		case "output":
			if r.Output != fmt.Sprintf("errand %d\n", id) {
				fail("errand %d has written %q", id, r.Output)
			}
			ask("release", fmt.Sprintf(`"terminalId":%q`, terminal))
		case "release":
			waits = ""
			tell(`{"id":%s,"result":{"stopReason":"end_turn"}}`, prompt)
		}
	}
}
