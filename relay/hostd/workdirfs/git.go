package workdirfs

import (
	"bytes"
	"context"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Limits on the output of git in bytes.
const (
	MaxStatus = 200_000
	MaxDiff   = 400_000
)

// safeSettings override settings of a repository that would make git run programs.
var safeSettings = []string{
	"core.fsmonitor=false", "core.hooksPath=/dev/null", "core.sshCommand=false", "core.gitProxy=", "core.askPass=", "credential.helper=",
	"protocol.allow=never", // prevents that git fetches the missing objects of a partial clone
	"diff.external=", "diff.submodule=short", "gpg.program=false",
}

// gitEnviron is the environment of git. With it, git asks no questions, takes no optional locks,
// and fetches no objects.
var gitEnviron = []string{"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat", "GIT_EXTERNAL_DIFF=", "GIT_ATTR_NOSYSTEM=1"}

// Status runs `git status` on the directory, or on a path in it.
func (s *Scope) Status(ctx context.Context, q protocol.Git) (*protocol.GitResult, error) {
	return s.git(ctx, q.Path, MaxStatus, "status", "--ignore-submodules=all")
}

// Diff runs `git diff` on the directory, or on a path in it.
func (s *Scope) Diff(ctx context.Context, q protocol.Git) (*protocol.GitResult, error) {
	return s.git(ctx, q.Path, MaxDiff, "diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
}

func (s *Scope) git(ctx context.Context, path string, most int, command ...string) (*protocol.GitResult, error) {
	path, err := cleanPath(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, protocol.RPCTimeout)
	defer cancel()
	settings, err := s.settings(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--no-pager"}, settings...)
	args = append(append(args, command...), "--", ":(literal)"+path)
	out, err := s.run(ctx, most, gitEnviron, "git", args...)
	if err != nil {
		return nil, err
	}
	if out.exit.Code == 129 { // a usage error: outside of a repository, git diff compares two files
		return nil, errorf(protocol.NotFound, "git: the run's directory is not a git repository")
	}
	if !out.truncated && out.exit.Code != 0 {
		return nil, errorf(protocol.NotFound, "git: %s", out.exit.Stderr)
	}
	return &protocol.GitResult{Stdout: string(out.stdout), Truncated: out.truncated}, nil
}

// settings returns safeSettings, and settings that disable each filter of the repository, because a
// filter is a program that git would run.
func (s *Scope) settings(ctx context.Context) ([]string, error) {
	out, err := s.run(ctx, MaxDiff, gitEnviron, "git", "--no-pager", "-c", "core.fsmonitor=false", "config", "--list", "--name-only", "-z")
	if err != nil {
		return nil, err
	}
	if out.truncated {
		return nil, errorf(protocol.RPCCode(protocol.TooLarge), "could not read git's settings: they are longer than the limit")
	}
	var args []string
	for _, one := range safeSettings {
		args = append(args, "-c", one)
	}
	for name := range bytes.SplitSeq(out.stdout, []byte{0}) {
		if parts := strings.Split(string(name), "."); len(parts) > 2 && strings.EqualFold(parts[0], "filter") {
			of := strings.Join(parts[1:len(parts)-1], ".")
			if strings.ContainsRune(of, '=') {
				return nil, errorf(protocol.RPCCode(protocol.Forbidden), "git's configuration has a filter whose name prevents disabling it: %s", of)
			}
			for _, how := range []string{"clean", "smudge", "process"} {
				args = append(args, "-c", "filter."+of+"."+how+"=")
			}
			args = append(args, "-c", "filter."+of+".required=false")
		}
	}
	return args, nil
}
