package main

import (
	"bufio"
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// gopherLua runs the program's Lua file, the same as for Lua 5.4, with gopher-lua. Its stacks grow
// as deep recursion requires.
func gopherLua(name string, text []byte, out *bufio.Writer) error {
	l := lua.NewState(lua.Options{
		CallStackSize:       1 << 14,
		MinimizeStackMemory: true,
		RegistrySize:        1 << 8, // of each coroutine, too
		RegistryMaxSize:     1 << 23,
		RegistryGrowStep:    1 << 16,
	})
	defer l.Close()
	l.SetGlobal("print", l.NewFunction(func(l *lua.LState) int {
		fmt.Fprintln(out, l.ToStringMeta(l.Get(1)))
		return 0
	}))
	return l.DoString(string(text))
}
