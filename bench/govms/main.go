// Command govms runs a benchmark program on a VM that is written in Go and has no command of its
// own. It is a separate module, so that the toolchain does not depend on these VMs.
//
//	govms ENGINE FILE        ENGINE is gopher-lua, tengo, goja or starlark
package main

import (
	"bufio"
	"fmt"
	"os"
)

// engine runs a program's text and writes its output to out.
type engine func(name string, text []byte, out *bufio.Writer) error

var engines = map[string]engine{
	"gopher-lua": gopherLua,
	"tengo":      runTengo,
	"goja":       runGoja,
	"starlark":   runStarlark,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "govms:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 || engines[args[0]] == nil {
		return fmt.Errorf("usage: govms gopher-lua|tengo|goja|starlark FILE")
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	if err := engines[args[0]](args[1], text, out); err != nil {
		return err
	}
	return out.Flush()
}
