// Package concerto runs programs of the Concerto language inside a Go program.
//
// [Load] checks and compiles a program. [LoadFS], [LoadSource] and [LoadIR] are for other kinds of
// input. [Program.Run] executes the program:
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
// A run receives only what its [Options] contain: with the zero Options it has no environment, no
// output and no answers to awaited emits. It may use only those files, network hosts, commands and
// variables that [Options.Permissions] or the manifest of its project name: source without a
// manifest may use none. [AllowAll] permits all that the process may do.
//
// Agents use the models in the program's manifest, with keys from Options.Env. [Options.Model]
// replaces all models by a Go function, for example by a [ScriptedModel] in tests, and
// [Options.Hosts] replaces hosts by Go functions, such as a [ScriptedHost].
//
// Programs that call MCP servers need an import, which also links the implementation of the
// protocol into the application:
//
//	import _ "github.com/concerto-lang/concerto/mcp"
//
// [Program.Call] calls one function of a program, with a Go struct as its arguments, and [As]
// decodes the result:
//
//	args := map[string]any{"ticket": ticket}
//	r, err := p.Call(ctx, "triage", args, concerto.Options{Env: os.Environ()})
//	if err != nil {
//		return err
//	}
//	verdict, err := concerto.As[Verdict](r)
//
// With [NewTool] and [Tools], agents and hosts can call Go functions as tools. A run with
// [Options.Durable] survives the end of its process: [OpenRun] finds it, and [StoredRun.Resume]
// continues it. [Records.Tape] records everything that a run receives from outside, and
// [Program.Replay] runs the program again with the recording.
//
// Every error is an [*Error]. The only exception is the cause of a context that ended, which is
// returned unchanged. Use errors.Is with the Err variables to determine the kind of an error.
//
// The package itself prints nothing. Programs, tapes and sets of tools are safe for concurrent use.
package concerto
