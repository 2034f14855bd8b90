package main

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concerto-lang/concerto/internal/cli"
	"github.com/concerto-lang/concerto/internal/record/hostreplay"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/relaycli"
)

// asCommand is an environment variable. If it is set, the test program acts as concerto-relay,
// under any name.
const asCommand = "CONCERTO_RELAY_TEST_COMMAND"

// TestMain makes the test program act as the command if a script calls it by one of the command's
// names.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "replay" {
		replay(os.Args[2])
	}
	call := func() { os.Exit(relaycli.Main(release)) }
	if os.Getenv(asCommand) != "" || len(os.Args) > 1 && os.Args[1] == "shim" { // hostd starts its own program
		call()
	}
	// Tests spend most of their time waiting for processes and timers, so more of them can run than
	// there are processors.
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.NumCPU())); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"concerto": func() { os.Exit(cli.Main(cli.Build{Release: release})) }, "concerto-relay": call, "relay-server": call, "relay-hostd": call})
}

// TestScripts runs the scripts in testdata/script, which check what users see.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       os.Getenv("CONCERTO_UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
	})
}

// replay acts as the agent whose messages are recorded in a file.
func replay(file string) {
	f, err := os.Open(file)
	if err != nil {
		panic(err)
	}
	r, err := hosttrace.Read(f)
	if err != nil {
		panic(err)
	}
	os.Exit(hostreplay.Play(hostreplay.Options{Recording: r, File: file, Host: "Coder", Proc: 1, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
