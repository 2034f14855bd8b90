package main

import (
	"bufio"
	"fmt"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

func runStarlark(name string, text []byte, out *bufio.Writer) error {
	thread := &starlark.Thread{Name: name, Print: func(_ *starlark.Thread, text string) { fmt.Fprintln(out, text) }}
	options := &syntax.FileOptions{While: true, Recursion: true, Set: true}
	_, err := starlark.ExecFileOptions(options, thread, name, text, starlark.StringDict{"math": math.Module, "json": json.Module})
	return err
}
