// Command main is a scripted coding agent: it requests the approvals that its argument lists.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	if _, err := in.ReadString('\n'); err != nil { // the prompt
		os.Exit(1)
	}
	for i, command := range os.Args[1:] {
		_ = out.Encode(map[string]any{"type": "approval", "id": fmt.Sprint(i), "description": command, "tool": "Bash"})
		if _, err := in.ReadString('\n'); err != nil {
			os.Exit(1)
		}
	}
	_ = out.Encode(map[string]any{"type": "result", "text": "fixed"})
}
