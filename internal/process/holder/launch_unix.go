//go:build unix

package holder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Launch starts a holder in a session of its own, so that it outlives this process and its
// terminal. The holder reads spec from its standard input. Its first line of standard output is
// decoded into ready, which reports that it accepts connections, or an error. Its standard error is
// appended to the file log. The error is ErrKilled if a signal ended the holder before it was ready.
func Launch(cmd *exec.Cmd, log string, spec, ready any) error {
	logged, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logged.Close()
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	output, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer output.Close()
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(text, '\n')), w, logged
	err = cmd.Start()
	w.Close()
	if err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }() // the holder is our child while we live; other errors are in its log
	err = json.NewDecoder(output).Decode(ready)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		how := <-exited
		var exit *exec.ExitError
		if errors.As(how, &exit) && !exit.Exited() {
			return fmt.Errorf("%w: %w", ErrKilled, how)
		}
		err = errors.Join(err, how)
	}
	if err != nil {
		return fmt.Errorf("it sent no message: %w", err)
	}
	return nil
}
