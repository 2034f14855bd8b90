// Command inside compiles and runs a Concerto program in its own process, for profiling. It prints
// the allocations of the run to stderr and can write Go profiles of the VM.
//
//	go run ./bench/inside [-cpuprofile FILE] [-memprofile FILE] PROGRAM [ARGS…]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"

	"github.com/concerto-lang/concerto"
)

func main() {
	cpu := flag.String("cpuprofile", "", "write a CPU profile of the run to `FILE`")
	mem := flag.String("memprofile", "", "write a profile of all that the run allocated to `FILE`")
	flag.Parse()
	if err := run(flag.Args(), *cpu, *mem); err != nil {
		fmt.Fprintln(os.Stderr, "inside:", err)
		os.Exit(1)
	}
}

func run(args []string, cpu, mem string) (err error) {
	if len(args) == 0 {
		return errors.New("which program?")
	}
	debug.SetGCPercent(400) // the `concerto` command uses the same setting
	if mem != "" {
		runtime.MemProfileRate = 4096
	}
	p, err := concerto.Load(args[0])
	if err != nil {
		return err
	}
	if cpu != "" {
		f, err := os.Create(cpu)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = p.Run(context.Background(), concerto.Options{Args: args[1:], Output: os.Stdout, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	runtime.ReadMemStats(&after)
	fmt.Fprintf(os.Stderr, "allocated %d bytes, %d objects, %d collections\n",
		after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs, after.NumGC-before.NumGC)
	if err != nil || mem == "" {
		return err
	}
	f, err := os.Create(mem)
	if err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup("allocs").WriteTo(f, 0)
}
