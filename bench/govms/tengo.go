package main

import (
	"bufio"
	"fmt"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/stdlib"
)

// runTengo runs a program with tengo's library and a module "bench", which contains print and
// array. array(n, x) returns an array of n times x. tengo's append copies the array, so that
// without array(n, x) a program would measure only these copies.
func runTengo(name string, text []byte, out *bufio.Writer) error {
	script := tengo.NewScript(text)
	modules := stdlib.GetModuleMap("math", "text", "json")
	modules.AddBuiltinModule("bench", map[string]tengo.Object{
		"array": &tengo.UserFunction{Name: "array", Value: tengoArray},
		"print": &tengo.UserFunction{Name: "print", Value: func(args ...tengo.Object) (tengo.Object, error) {
			for _, x := range args {
				text, _ := tengo.ToString(x)
				fmt.Fprintln(out, text)
			}
			return tengo.UndefinedValue, nil
		}},
	})
	script.SetImports(modules)
	_, err := script.Run()
	return err
}

func tengoArray(args ...tengo.Object) (tengo.Object, error) {
	if len(args) != 2 {
		return nil, tengo.ErrWrongNumArguments
	}
	n, ok := tengo.ToInt(args[0])
	if !ok || n < 0 {
		return nil, tengo.ErrInvalidArgumentType{Name: "n", Expected: "int", Found: args[0].TypeName()}
	}
	values := make([]tengo.Object, n)
	for i := range values {
		values[i] = args[1]
	}
	return &tengo.Array{Value: values}, nil
}
