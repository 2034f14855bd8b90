package main

import (
	"bufio"
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// gopherLua runs the Lua file of a program, which is also the one for Lua 5.4, with gopher-lua. The
// sizes allow deep recursion.
func gopherLua(name string, text []byte, out *bufio.Writer) error {
	l := lua.NewState(lua.Options{
		CallStackSize:       1 << 14,
		MinimizeStackMemory: true,
		RegistrySize:        1 << 8, // initial size, also for each coroutine
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
