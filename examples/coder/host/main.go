// Command host plays a coding agent. It speaks the host protocol, a JSON object on each line, on
// its standard streams.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// message is a line of the protocol.
type message map[string]any

// steps are the messages that the agent sends for one task. After a message with an id, the agent
// waits for its answer.
var steps = []message{
	{"type": "progress", "message": "Reading invoice.go and its test", "percent": 10},
	{"type": "approval", "id": "a1", "description": "Bash: go test ./invoice", "kind": "execute", "args": message{"command": "go test ./invoice"}},
	{"type": "progress", "message": "TestTotal fails: 10.125 is rounded to 10.13, want 10.12", "percent": 30},
	{"type": "question", "id": "q1", "question": "Round half up, or half to even?", "options": []string{"half up", "half to even"}},
	{"type": "approval", "id": "a2", "description": "Edit invoice.go", "kind": "edit", "paths": []string{"invoice.go"}},
	{"type": "approval", "id": "a3", "description": "Read .env", "kind": "read", "paths": []string{".env"}},
	{"type": "progress", "message": "3 of 3 tests pass", "percent": 80},
	{"type": "approval", "id": "a4", "description": "Bash: git push origin fix-rounding", "kind": "execute", "args": message{"command": "git push origin fix-rounding"}},
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() { // a prompt
		pushed := false
		for _, m := range steps {
			if err := out.Encode(m); err != nil {
				return
			}
			if m["id"] != nil {
				pushed = answer(in, m["id"]) == "yes"
			}
		}
		text := "Fixed the rounding; the branch is not pushed."
		if pushed {
			text = "Fixed the rounding and pushed the branch."
		}
		if err := out.Encode(message{"type": "result", "text": text}); err != nil {
			return
		}
	}
}

// answer returns the answer to the message with this id.
func answer(in *bufio.Scanner, id any) string {
	for in.Scan() {
		var m message
		if json.Unmarshal(in.Bytes(), &m) == nil && m["answer_to"] == id {
			return fmt.Sprint(m["value"])
		}
	}
	os.Exit(1) // the program has closed the stream
	return ""
}
