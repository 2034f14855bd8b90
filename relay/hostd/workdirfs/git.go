package workdirfs

import (
	"bytes"
	"context"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// How much git says at most, in bytes.
const (
	MaxStatus = 200_000
	MaxDiff   = 400_000
)

// harmless are settings that win over a repository's: with them git runs no program.
var harmless = []string{
	"core.fsmonitor=false", "core.hooksPath=/dev/null", "core.sshCommand=false", "core.gitProxy=", "core.askPass=", "credential.helper=",
	"protocol.allow=never", // of what a partial clone lacks, nothing is fetched
	"diff.external=", "diff.submodule=short", "gpg.program=false",
}

// noPrograms is git's environment: no questions, no locks that disturb who works there, no
// objects that are fetched.
var noPrograms = []string{"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat", "GIT_EXTERNAL_DIFF=", "GIT_ATTR_NOSYSTEM=1"}

// Status is what `git status` says of the directory, or of a path in it.
func (s *Scope) Status(ctx context.Context, q protocol.Git) (*protocol.GitDone, error) {
	return s.git(ctx, q.Path, MaxStatus, "status", "--ignore-submodules=all")
}

// Diff is what `git diff` says of the directory, or of a path in it.
func (s *Scope) Diff(ctx context.Context, q protocol.Git) (*protocol.GitDone, error) {
	return s.git(ctx, q.Path, MaxDiff, "diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
}

func (s *Scope) git(ctx context.Context, path string, most int, command ...string) (*protocol.GitDone, error) {
	path, err := within(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, protocol.RPCWithin)
	defer cancel()
	settings, err := s.settings(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--no-pager"}, settings...)
	args = append(append(args, command...), "--", ":(literal)"+path)
	out, err := s.run(ctx, most, noPrograms, "git", args...)
	if err != nil {
		return nil, err
	}
	if out.exit.Code == 129 { // of diff, which then compares any two files
		return nil, refused(protocol.NotFound, "git: the run's directory is in no repository (not a git repository)")
	}
	if !out.truncated && out.exit.Code != 0 {
		return nil, refused(protocol.NotFound, "git: %s", out.exit.Stderr)
	}
	return &protocol.GitDone{Stdout: string(out.stdout), Truncated: out.truncated}, nil
}

// settings are the harmless ones, and one for each filter of the repository: a filter is a
// program that git would run on files.
func (s *Scope) settings(ctx context.Context) ([]string, error) {
	out, err := s.run(ctx, MaxDiff, noPrograms, "git", "--no-pager", "-c", "core.fsmonitor=false", "config", "--list", "--name-only", "-z")
	if err != nil {
		return nil, err
	}
	if out.truncated {
		return nil, refused(protocol.RPCCode(protocol.TooLarge), "git has more settings than can be looked at")
	}
	var args []string
	for _, one := range harmless {
		args = append(args, "-c", one)
	}
	for name := range bytes.SplitSeq(out.stdout, []byte{0}) {
		if parts := strings.Split(string(name), "."); len(parts) > 2 && strings.EqualFold(parts[0], "filter") {
			of := strings.Join(parts[1:len(parts)-1], ".")
			if strings.ContainsRune(of, '=') {
				return nil, refused(protocol.RPCCode(protocol.Forbidden), "git has a filter of a name that cannot be turned off: %s", of)
			}
			for _, how := range []string{"clean", "smudge", "process"} {
				args = append(args, "-c", "filter."+of+"."+how+"=")
			}
			args = append(args, "-c", "filter."+of+".required=false")
		}
	}
	return args, nil
}
