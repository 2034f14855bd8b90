package main

import (
	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto"
)

// worldFlags say what stands for the world around a program: whoever answers its
// awaited emits, and its models.
type worldFlags struct {
	answers []string
	handler string
	mock    bool
}

func (f *worldFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.answers, "answer", nil, "answer awaited emits: `CHANNEL=VALUE`")
	c.Flags().StringVar(&f.handler, "emit-handler", "", "`COMMAND` that answers awaited emits")
	c.Flags().BoolVar(&f.mock, "mock", false, "play every connection: fixed answers, in the schema where there is one")
}

// prepare compiles or loads what path leads to, with the options that every way
// of running it shares. When it returns, signals are caught.
func (a *app) prepare(path string, f *worldFlags, signals *interrupts) (*concerto.Program, concerto.Options, error) {
	fixed, err := answers(f.answers)
	if err != nil {
		return nil, concerto.Options{}, err
	}
	p, dir, err := a.program(path, f.mock)
	if err != nil {
		return nil, concerto.Options{}, err
	}
	<-signals.ready
	return p, concerto.Options{
		Dir: dir, WorkDir: a.dir, Environ: a.environ,
		Answers: fixed, Handler: f.handler, HandlerDir: a.dir,
		Log: a.stderr, LogLevel: a.logLevel, Kill: signals.kill, Mock: f.mock,
	}, nil
}
