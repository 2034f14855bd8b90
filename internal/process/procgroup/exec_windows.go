package procgroup

import (
	"os"
	"os/exec"
	"os/signal"
)

// Exec runs a program in place of this process, which Windows cannot replace: this process waits
// for the program and exits with its code. Exec returns only if the program does not start.
func Exec(path string, args, env []string) error {
	c := exec.Command(path)
	c.Args, c.Env = args, env
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		return err
	}
	signal.Ignore(os.Interrupt) // Ctrl-C is for the program
	_ = c.Wait()                // the exit code contains the result
	os.Exit(c.ProcessState.ExitCode())
	return nil
}
