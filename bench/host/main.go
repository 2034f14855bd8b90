// Command host is the host of the listen benchmarks. `host flood N` answers a
// prompt with N progress messages. `host ask N` answers with N questions, each
// sent after the answer to the one before. Both end with a result.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
)

func main() {
	mode := os.Args[1]
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<16), 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for in.Scan() {
		for i := range n {
			if mode == "flood" {
				fmt.Fprintf(out, `{"type":"progress","message":"working on part %d of the task","percent":%d,"stage":"build","done":false}`+"\n", i, i%100)
				continue
			}
			fmt.Fprintf(out, `{"type":"question","id":"q%d","question":"which of the two should I take?","options":["left","right"]}`+"\n", i)
			out.Flush()
			if !in.Scan() {
				return
			}
		}
		fmt.Fprintln(out, `{"type":"result","text":"done"}`)
		out.Flush()
	}
}
