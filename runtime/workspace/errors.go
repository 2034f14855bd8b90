package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// Code is the reason of an Error (spec/42-workspaces.md).
type Code string

// The codes.
const (
	NoRepository Code = "no_repository"
	NoCommit     Code = "no_commit"
	BadRef       Code = "bad_ref"
	BadName      Code = "bad_name"
	BranchTaken  Code = "branch_taken"
	Busy         Code = "busy"
	Dirty        Code = "dirty"
	Moved        Code = "moved"
	Unmerged     Code = "unmerged"
	Nested       Code = "nested"
	Missing      Code = "missing"
	Setup        Code = "setup"
	Unpushed     Code = "unpushed"
	Locked       Code = "locked"
	GitMissing   Code = "git_missing"
	GitOld       Code = "git_old"
	Permission   Code = "permission"
	Disk         Code = "disk"
	OtherGit     Code = "git"

	// Of merges (spec/43-merging.md).
	NoBranch      Code = "no_branch"
	AlreadyMerged Code = "already_merged"
	CheckedOut    Code = "checked_out"
	NoGate        Code = "no_gate"
	Diverged      Code = "diverged"
	Unrelated     Code = "unrelated"
)

// Error is an error of a workspace. Hint, if not "", is what to do. Command, ExitCode and Stderr
// are those of a process that has failed; ExitCode is nil without one.
type Error struct {
	Code      Code
	Message   string
	Hint      string
	Workspace string
	Command   []string
	ExitCode  *int
	Stderr    *string
}

func (e *Error) Error() string {
	if e.Hint != "" {
		return e.Message + ": " + e.Hint
	}
	return e.Message
}

// errorf returns an Error about a workspace.
func errorf(code Code, workspace, format string, args ...any) *Error {
	return &Error{Code: code, Workspace: workspace, Message: fmt.Sprintf(format, args...)}
}

// hint sets Hint and returns the error.
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Failure is failure, for merges.
func Failure(err error, workspace, doing string) error { return failure(err, workspace, doing) }

// failure converts an error of git or of the file system to an Error. It returns the errors of a
// context unchanged. doing continues a sentence that begins with "could not".
func failure(err error, workspace, doing string) error {
	var known *Error
	var failed *git.Error
	var path *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, git.ErrMissing):
		return errorf(GitMissing, workspace, "%v", err)
	case errors.Is(err, git.ErrOld):
		return errorf(GitOld, workspace, "%v", err).hint("install git %s or newer", git.Least)
	case errors.As(err, &failed):
		e := errorf(OtherGit, workspace, "could not %s: %v", doing, failed)
		e.Command, e.ExitCode, e.Stderr = append([]string{"git"}, failed.Args...), &failed.ExitCode, &failed.Stderr
		switch {
		case errors.Is(err, git.ErrLocked):
			e.Code = Locked
			e.hint("%v", git.ErrLocked)
		case git.IsNoRepository(err):
			e.Code = NoRepository
		case strings.Contains(failed.Stderr, "No space left on device"):
			e.Code = Disk
		case strings.Contains(failed.Stderr, "Permission denied"):
			e.Code = Permission
		}
		return e
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return errorf(Disk, workspace, "could not %s: %v", doing, err)
	case errors.Is(err, os.ErrPermission):
		return errorf(Permission, workspace, "could not %s: %v", doing, err)
	case errors.As(err, &path):
		return errorf(OtherGit, workspace, "could not %s: %v", doing, err)
	}
	return err
}
