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

// stormMessage is a message from a run to a host of the storm program, in any of the hosts'
// protocols.
type stormMessage struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Key       string          `json:"key"`
	Session   string          `json:"session"`
	InReplyTo string          `json:"in_reply_to"`
	AnswerTo  string          `json:"answer_to"`
	Value     json.RawMessage `json:"value"`
	Resumed   *struct {
		Answered stormMessage `json:"answered"`
	} `json:"resumed"`

	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Input   []stormMessage `json:"input"`
		Prompt  []stormMessage `json:"prompt"`
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

// stormHost runs the host of the storm program that args names: clerk, watch, coder (Codex's
// protocol), agent (ACP), or one of the hosts of turnStorm. It stores the received messages in a
// file, so that it can continue an exchange that an earlier process of the same host began.
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
	handle := newClerk()
	switch args[0] {
	case "watch":
		handle = newWatch(args[1])
	case "coder":
		handle = newCoder()
	case "agent":
		handle = newAgent()
	case "turns0", "turns1":
		handle = newTurner(args[0])
	}
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		_, _ = log.Write(line)
		var m stormMessage
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		handle(&m)
	}
}

func sendLine(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// newClerk returns a message handler that sends progress, a question and a request for approval,
// and then the result.
func newClerk() func(*stormMessage) {
	job := ""
	return func(m *stormMessage) {
		after := m.InReplyTo
		switch m.Type {
		case "init":
			sendLine(`{"type":"init_ack","capabilities":["resume","steer"]}`)
			return
		case "steer":
			return
		case "prompt":
			if !strings.HasPrefix(m.Text, "job ") { // a message that a lost process did not receive
				sendLine(`{"type":"result","text":%q}`, m.Text)
				return
			}
			job = m.Text
			sendLine(`{"type":"progress","message":%q,"session":%[1]q}`, job)
			if m.Resumed != nil {
				after = m.Resumed.Answered.Type
			}
		}
		switch after {
		case "":
			sendLine(`{"type":"question","id":%q,"question":%[1]q}`, job)
		case "question":
			sendLine(`{"type":"approval","id":%q,"description":%[1]q}`, job)
		case "approval":
			sendLine(`{"type":"result","text":%q}`, job)
		}
	}
}

// newWatch returns a message handler that sends a question, and then the result. capability is
// "steer" or another one. The host completes the turn of a queued message at once.
func newWatch(capability string) func(*stormMessage) {
	return func(m *stormMessage) {
		switch m.Type {
		case "init":
			sendLine(`{"type":"init_ack","capabilities":["resume",%q]}`, capability)
		case "prompt":
			if m.Text != "watch." {
				sendLine(`{"type":"result","text":%q}`, m.Text)
				return
			}
			sendLine(`{"type":"question","id":"q","question":"done?","session":"w"}`)
		case "response":
			sendLine(`{"type":"result","text":"watched"}`)
		}
	}
}

var stormTask = regexp.MustCompile(`task \d+\.`)

// newCoder returns a message handler that requests approval of a command, and then completes the
// turn.
func newCoder() func(*stormMessage) {
	task, turn := "", 0
	return func(m *stormMessage) {
		done := m.Result.Decision != ""
		switch m.Method {
		case "initialize":
			sendLine(`{"id":%s,"result":{"userAgent":"codex/0.169.0"}}`, m.ID)
			return
		case "thread/start", "thread/resume":
			sendLine(`{"id":%s,"result":{"thread":{"id":"t1"}}}`, m.ID)
			return
		case "initialized":
			return
		case "turn/steer":
			if n := 0; strings.Contains(m.Params.Input[0].Text, "message") {
				_, _ = fmt.Sscanf(m.Params.Input[0].Text, "message %d.", &n)
				if n%2 == 1 {
					sendLine(`{"id":%s,"error":{"code":-32600,"message":"the turn cannot be steered"}}`, m.ID)
					return
				}
			}
			sendLine(`{"id":%s,"result":{"turnId":"u1"}}`, m.ID)
			return
		case "turn/start":
			turn++
			text := m.Params.Input[0].Text
			task = stormTask.FindString(text)
			sendLine(`{"id":%s,"result":{"turn":{"id":"u1","status":"inProgress"}}}`, m.ID)
			sendLine(`{"method":"item/agentMessage/delta","params":{"threadId":"t1","turnId":"u1","itemId":"m","delta":"Let me look."}}`)
			done = strings.Contains(text, "The answer:") || strings.HasPrefix(text, "message ")
		}
		if !done {
			sendLine(`{"method":"item/commandExecution/requestApproval","id":%d,"params":{"threadId":"t1","turnId":"u1","itemId":"c","command":%q,"cwd":"/"}}`, turn, task)
			return
		}
		sendLine(`{"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"agentMessage","id":"m","text":"All done."}}}`)
		sendLine(`{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed","items":[]}}}`)
	}
}

var stormRequest = regexp.MustCompile(`errand (\d+)\.`)

// newAgent returns a message handler that starts a command in a terminal, calls a tool while the
// command runs, and then requests the command's output. The agent fails unless each of its requests
// gets exactly one response.
func newAgent() func(*stormMessage) {
	var tools net.Conn
	var in *bufio.Reader
	var prompt json.RawMessage
	terminal, id, lastID := "", 0, 100
	waits := "" // the method of the request without a response
	fail := func(format string, args ...any) {
		_ = os.WriteFile("agent.fail", fmt.Appendf(nil, format, args...), 0o666)
		os.Exit(9)
	}
	ask := func(method, params string) {
		lastID++
		waits = method
		sendLine(`{"id":%d,"method":"terminal/%s","params":{"sessionId":"S",%s}}`, lastID, method, params)
	}
	call := func() {
		var got stormMessage
		lastID++
		fmt.Fprintf(tools, `{"id":%d,"method":"tools/call","params":{"name":"Notes_note","arguments":{"id":%d}}}`+"\n", lastID, id)
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0) // the keeper at the other end of the connection was killed, so a resumed run has no response to this call
		}
		err = json.Unmarshal(line, &got)
		if err != nil || string(got.ID) != fmt.Sprint(lastID) || got.Result.Value.Result != 2*id {
			fail("errand %d, call %d: %s %v", id, lastID, line, err)
		}
	}
	return func(m *stormMessage) {
		switch m.Method {
		case "initialize":
			sendLine(`{"id":%s,"result":{"protocolVersion":1}}`, m.ID)
			return
		case "session/new":
			var err error
			if tools, err = net.Dial("unix", m.Params.Servers[0].Args[2]); err != nil {
				fail("%v", err)
			}
			in = bufio.NewReader(tools)
			sendLine(`{"id":%s,"result":{"sessionId":"S"}}`, m.ID)
			return
		case "session/prompt":
			prompt = m.ID
			if strings.HasPrefix(m.Params.Prompt[0].Text, "again ") {
				sendLine(`{"id":%s,"result":{"stopReason":"end_turn"}}`, prompt)
				return
			}
			_, _ = fmt.Sscan(stormRequest.FindStringSubmatch(m.Params.Prompt[0].Text)[1], &id)
			ask("create", fmt.Sprintf(`"command":"echo errand %d; exit %d"`, id, id%5))
			return
		}
		if string(m.ID) != fmt.Sprint(lastID) {
			fail("errand %d: got a response to request %s, want one to request %d", id, m.ID, lastID)
		}
		switch r := m.Result; waits {
		case "create":
			terminal = r.Terminal
			call()
			ask("wait_for_exit", fmt.Sprintf(`"terminalId":%q`, terminal))
		case "wait_for_exit":
			if r.Exit == nil || *r.Exit != id%5 {
				fail("errand %d: the command exited with %+v", id, r)
			}
			ask("output", fmt.Sprintf(`"terminalId":%q`, terminal))
		case "output":
			if r.Output != fmt.Sprintf("errand %d\n", id) {
				fail("errand %d: the command wrote %q", id, r.Output)
			}
			ask("release", fmt.Sprintf(`"terminalId":%q`, terminal))
		case "release":
			waits = ""
			sendLine(`{"id":%s,"result":{"stopReason":"end_turn"}}`, prompt)
		}
	}
}
