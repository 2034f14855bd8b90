package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// stormMessage is a message from a run to a host that stormHost runs.
type stormMessage struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Key       string `json:"key"`
	Session   string `json:"session"`
	InReplyTo string `json:"in_reply_to"`
	AnswerTo  string `json:"answer_to"`
	Resumed   *struct {
		Answered struct {
			Type string          `json:"type"`
			ID   json.RawMessage `json:"id"`
		} `json:"answered"`
	} `json:"resumed"`
}

// stormHost runs the host of a killed run that args names: clerk, or one of the hosts of turnStorm.
// It stores the received messages in a file, and reports each to the server at args[1], which may
// kill the run then.
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
	handle := clerk
	if args[0] != "clerk" {
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
		event := fmt.Sprintln(args[0], m.Type, m.Text, m.AnswerTo)
		if r, err := http.Post(args[1]+"/host", "text/plain", strings.NewReader(event)); err == nil {
			_ = r.Body.Close() // the server also aborts requests
		}
		handle(&m)
	}
}

func sendLine(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// clerk sends progress, a question and a request for approval, and then the result. Its session is
// its job, so that any process of the host can continue it.
func clerk(m *stormMessage) {
	job, after := m.AnswerTo, m.InReplyTo
	switch m.Type {
	case "init":
		sendLine(`{"type":"init_ack","capabilities":["resume","steer"]}`)
		return
	case "steer":
		return
	case "prompt":
		if job = m.Text; !strings.HasPrefix(job, "job ") { // a message that a lost process did not receive
			sendLine(`{"type":"result","text":%q}`, job)
			return
		}
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
