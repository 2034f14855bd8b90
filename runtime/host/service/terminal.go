package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// Terminals runs commands for an agent, either in this process or in the keeper.
type Terminals interface {
	Open(number int64, spec *terminalhost.Spec) (id string, err error)
	Output(id string) (terminalhost.Output, error)
	Await(id string) (terminalhost.Exit, error)
	Kill(id string) error
	Release(number int64, id string) error
	End()
}

// openTerminal starts a command in a new terminal.
func (s *Service) openTerminal(e *adapter.Request) (any, *adapter.RPCError) {
	var q adapter.Command
	if err := json.Unmarshal(e.Params, &q); err != nil {
		return nil, adapter.NewRPCError(adapter.CodeInvalid, err.Error())
	}
	if strings.HasPrefix(q.Command, "-") {
		return nil, adapter.NewRPCError(adapter.CodeInvalid, q.Command+" is no command")
	}
	spec, err := s.command(&q)
	if err != nil {
		return nil, adapter.NewRPCError(adapter.CodeInternal, err.Error())
	}
	id, err := s.opts.Terminals().Open(e.Number, spec)
	if err != nil {
		return nil, terminalFailed(id, err)
	}
	return map[string]any{"terminalId": id}, nil
}

// command returns the specification with which a terminal's command is started.
func (s *Service) command(q *adapter.Command) (*terminalhost.Spec, error) {
	dir, err := filepath.Abs(s.opts.Dir)
	if err != nil {
		return nil, err
	}
	env := s.opts.Environ()
	for _, v := range q.Env {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.ContainsRune(v.Value, 0) {
			return nil, fmt.Errorf("%q is not a valid environment variable", v.Name)
		}
		env = append(env, v.Name+"="+v.Value)
	}
	shell, args, err := terminalhost.Shell(q.Command, q.Args, dir, env)
	if err != nil {
		return nil, err
	}
	if q.Dir != "" {
		at := filepath.FromSlash(q.Dir)
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		dir = at
	}
	limit := terminalhost.Most
	if q.Limit != nil {
		limit = *q.Limit
	}
	return &terminalhost.Spec{Path: shell, Args: args, Env: env, Dir: dir, Limits: s.opts.Limits, Retain: limit}, nil
}

// terminalID returns the terminal's ID in a request.
func terminalID(e *adapter.Request) (string, *adapter.RPCError) {
	var q struct {
		ID string `json:"terminalId"`
	}
	if err := json.Unmarshal(e.Params, &q); err != nil {
		return "", adapter.NewRPCError(adapter.CodeInvalid, err.Error())
	}
	return q.ID, nil
}

// errElsewhere means that this process must not answer the request, because the processes were left
// to their keeper or were lost.
var errElsewhere = &adapter.RPCError{}

// terminalFailed returns the JSON-RPC error for a failed operation on a terminal.
func terminalFailed(id string, err error) *adapter.RPCError {
	switch {
	case errors.Is(err, keeper.ErrLeft), errors.Is(err, keeper.ErrLost):
		return errElsewhere
	case errors.Is(err, terminalhost.ErrNone):
		return adapter.NewRPCError(adapter.CodeMissing, fmt.Sprintf("there is no terminal %q", id))
	}
	return adapter.NewRPCError(adapter.CodeInternal, err.Error())
}

func exitStatus(e *terminalhost.Exit) map[string]any {
	if e.Signal != "" {
		return map[string]any{"exitCode": nil, "signal": e.Signal}
	}
	return map[string]any{"exitCode": e.Code, "signal": nil}
}

func (s *Service) terminalOutput(e *adapter.Request) (any, *adapter.RPCError) {
	id, failure := terminalID(e)
	if failure != nil {
		return nil, failure
	}
	o, err := s.opts.Terminals().Output(id)
	if err != nil {
		return nil, terminalFailed(id, err)
	}
	out := map[string]any{"output": o.Text, "truncated": o.Cut}
	if o.Exit != nil {
		out["exitStatus"] = exitStatus(o.Exit)
	}
	return out, nil
}

// awaitTerminal answers when the terminal's command has exited.
func (s *Service) awaitTerminal(e *adapter.Request) (any, *adapter.RPCError) {
	id, failure := terminalID(e)
	if failure != nil {
		return nil, failure
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits >= requestLimit || s.ended {
		return nil, adapter.NewRPCError(adapter.CodeInternal, "too many requests wait here: wait for the answers to earlier ones")
	}
	s.waits++
	wanted := *e
	s.running.Go(func() {
		exit, err := s.opts.Terminals().Await(id)
		s.mu.Lock()
		s.waits--
		s.mu.Unlock()
		if err == nil {
			s.opts.Answer(&wanted, wanted.Result(exitStatus(&exit)))
		} else if failure := terminalFailed(id, err); failure != errElsewhere {
			s.opts.Answer(&wanted, wanted.Failure(failure.Number(), failure.Message))
		}
	})
	return nil, nil
}

// killTerminal ends the terminal's command. Its output remains available.
func (s *Service) killTerminal(e *adapter.Request) (any, *adapter.RPCError) {
	return withTerminal(e, func(id string) error { return s.opts.Terminals().Kill(id) })
}

// releaseTerminal ends the terminal's command and removes the terminal.
func (s *Service) releaseTerminal(e *adapter.Request) (any, *adapter.RPCError) {
	return withTerminal(e, func(id string) error { return s.opts.Terminals().Release(e.Number, id) })
}

// withTerminal calls do with the terminal's ID in the request.
func withTerminal(e *adapter.Request, do func(id string) error) (any, *adapter.RPCError) {
	id, failure := terminalID(e)
	if failure != nil {
		return nil, failure
	}
	if err := do(id); err != nil {
		return nil, terminalFailed(id, err)
	}
	return map[string]any{}, nil
}
