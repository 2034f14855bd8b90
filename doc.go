// Package concerto runs programs of the Concerto language inside a Go program.
//
// [Load] checks and compiles a program; [LoadFS], [LoadSource] and [LoadIR] do so for other kinds
// of input. [Program.Run] executes it:
//
//	p, err := concerto.Load("triage.conc")
//	if err != nil {
//		return err
//	}
//	result, err := p.Run(ctx, concerto.Options{
//		Env:    os.Environ(),
//		OnEmit: func(e concerto.Emit) { log.Print(e.Channel, string(e.Payload)) },
//	})
//
// A run receives from outside only what its [Options] contain: the zero Options have no
// environment, no output and no answers to awaited emits. Files, the network, commands and hosts
// are those of the process, as far as the program's [permissions] and [Options.Permissions] permit.
//
// The models of agents are those of the program's manifest, with keys from Options.Env. A Go
// function replaces them with [Options.Model], for example [ScriptedModel] in tests.
//
// Go functions become tools of agents and hosts with [NewTool] and [Tools]. A run with
// [Options.Durable] survives the end of its process: [OpenRun] finds it, and [StoredRun.Resume]
// continues it. [Records.Tape] records what a run receives from outside, and [Program.Replay] runs
// the program again with it.
//
// Every error is an [*Error], except the cause of a context's end, which is returned as it is. Use
// errors.Is with the Err variables to find its kind.
//
// The package prints nothing. Programs, tapes and sets of tools are safe for concurrent use.
package concerto
