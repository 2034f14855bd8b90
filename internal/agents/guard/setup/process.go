package setup

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// locate returns the path of the agent's program. The error is a *NotFoundError.
func (a *Agent) locate(p *Place) (string, error) {
	path, err := procgroup.Find(a.Program, p.Dir, p.Environ)
	if err != nil {
		return "", &NotFoundError{a}
	}
	return path, nil
}

// converse starts a program in a process group of its own, and lets talk use its input and output.
// It ends the group when talk returns.
func converse(ctx context.Context, c procgroup.Command, talk func(p *procgroup.Process) error) error {
	p, err := procgroup.Start(c)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- talk(p) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.End(time.Second, nil)
	<-p.GroupDone()
	return err
}

// output runs a program to its end and returns what it prints.
func output(ctx context.Context, c procgroup.Command) (string, error) {
	var text []byte
	c.Merged = true
	err := converse(ctx, c, func(p *procgroup.Process) (err error) {
		_ = p.Stdin.Close() // the program reads nothing
		if text, err = io.ReadAll(p.Stdout); err != nil {
			return err
		}
		<-p.Done()
		if code := p.Exit().Code; code != 0 {
			return fmt.Errorf("exit code %d", code)
		}
		return nil
	})
	return string(text), err
}
