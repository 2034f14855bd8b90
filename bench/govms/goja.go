package main

import (
	"bufio"
	"fmt"

	"github.com/dop251/goja"
)

func runGoja(name string, text []byte, out *bufio.Writer) error {
	vm := goja.New()
	err := vm.Set("print", func(x goja.Value) { fmt.Fprintln(out, x.String()) })
	if err != nil {
		return err
	}
	_, err = vm.RunScript(name, string(text))
	return err
}
