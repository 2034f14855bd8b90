package cli

import (
	"fmt"
	"testing"
)

// dapRequests are the requests of the protocol that an adapter may receive, except those that begin
// or end a session.
var dapRequests = []string{
	"attach", "breakpointLocations", "cancel", "completions", "configurationDone", "continue", "dataBreakpointInfo", "disassemble", "evaluate",
	"exceptionInfo", "goto", "gotoTargets", "initialize", "loadedSources", "modules", "next", "pause", "readMemory", "restartFrame",
	"reverseContinue", "scopes", "setBreakpoints", "setDataBreakpoints", "setExceptionBreakpoints", "setExpression",
	"setFunctionBreakpoints", "setInstructionBreakpoints", "setVariable", "source", "stackTrace", "stepBack", "stepIn", "stepInTargets",
	"stepOut", "terminateThreads", "threads", "variables", "writeMemory", "noSuchRequest",
}

// dapArguments returns arguments that are valid for every request that uses any of them.
func (d *debugger) dapArguments() map[string]any {
	return map[string]any{"threadId": 1, "frameId": 1, "targetId": 1, "variablesReference": 1, "expression": "1", "value": "1", "name": "n", "text": "n",
		"column": 1, "line": 1, "adapterID": "x", "source": map[string]any{"path": d.dir + "/main.conc"}, "breakpoints": []any{}, "filters": []string{}}
}

// TestDapAnswersAll sends each request before a program is launched, after a failed launch, and
// after the program has exited. The adapter must respond to all of them.
func TestDapAnswersAll(t *testing.T) {
	t.Parallel()
	initialize := func(d *debugger) { d.ask("initialize", map[string]any{"adapterID": "x"}) }
	for name, begin := range map[string]func(d *debugger){
		"before initialize":   func(*debugger) {},
		"before launch":       initialize,
		"with a breakpoint":   func(d *debugger) { initialize(d); d.at(line(1)) },
		"after a bad launch":  func(d *debugger) { initialize(d); d.refused("launch", map[string]any{}) },
		"before main":         func(d *debugger) { d.launch(nil) },
		"while it is stopped": func(d *debugger) { atFirst(d) },
		"after its end":       func(d *debugger) { d.launch(nil); d.begin(); d.awaitExit() },
		"after a wrong program": func(d *debugger) {
			d.launch(map[string]any{"program": d.dir + "/none.conc"})
			d.awaitExit()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ending := range []string{"", "launch", "restart", "terminate"} {
				d, _ := debugsHere(t, map[string]string{"main.conc": "fn main() {\n    let n = 1;\n    println(\"${n}\");\n}\n"})
				begin(d)
				if ending != "" {
					d.awaitResponse(d.send(ending, map[string]any{"program": d.dir + "/main.conc"}))
				}
				for _, command := range dapRequests {
					d.awaitResponse(d.send(command, d.dapArguments()))
					d.awaitResponse(d.send(command, nil))
				}
				same(t, fmt.Sprint(d.awaitResponse(d.send("disconnect", nil))["success"]), "true")
			}
		})
	}
}
