// Command run builds a release, as `make release` does. The environment has its settings: VERSION,
// OUT, BASE_URL, TARGETS, SIGN, DIRTY, PLAYGROUND and SOURCE_DATE_EPOCH.
//
//	run [check]
//
// With the argument check, it builds the release twice, compares both, and installs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/concerto-lang/concerto/internal/release"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		return 2
	}
	do := release.Make
	if len(args) == 1 && args[0] == "check" {
		do = release.Check
	} else if len(args) > 0 {
		fmt.Fprintln(os.Stderr, "usage: run [check]")
		return 2
	}
	if err := do(ctx, release.Environment(root, os.Stderr)); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		if _, refused := errors.AsType[*release.RefusedError](err); refused || errors.Is(err, syscall.ENOSPC) {
			return 2
		}
		return 1
	}
	return 0
}
