// Command peer handles one host in plain Go, with a pipe, a scanner and encoding/json. The listen
// benchmarks compare Concerto with it. `peer COMMAND ARGS…` starts the host, sends a prompt, counts
// the messages, and answers the questions.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(command string, args []string) error {
	cmd := exec.Command(command, args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Fprintln(stdin, `{"type":"prompt","text":"go"}`)
	in := bufio.NewScanner(stdout)
	in.Buffer(make([]byte, 1<<16), 16<<20)
	count, sum := 0, 0.0
	for in.Scan() {
		var m map[string]any
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return err
		}
		switch m["type"] {
		case "progress":
			count++
			sum += m["percent"].(float64)
		case "question":
			count++
			reply, err := json.Marshal(map[string]any{"type": "response", "in_reply_to": "question", "answer_to": m["id"], "value": "left"})
			if err != nil {
				return err
			}
			if _, err := stdin.Write(append(reply, '\n')); err != nil {
				return err
			}
		case "result":
			fmt.Println(count, int(sum))
			stdin.Close()
			return cmd.Wait()
		}
	}
	return in.Err()
}
