package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// shimCommand is internal to hostd: a process for each run, which outlives hostd.
func (a *app) shimCommand() *cobra.Command {
	return &cobra.Command{
		Use: "shim", Short: "Keep a run on its terminal (hostd starts it)", Hidden: true,
		Args: argsBetween(0, 0, "concerto-relay hostd"),
		RunE: func(*cobra.Command, []string) error { return ptyholder.Main(a.stdin, os.Stdout) },
	}
}
