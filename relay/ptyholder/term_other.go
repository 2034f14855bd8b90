//go:build !unix

package ptyholder

import "errors"

// term does not exist on this system, which has no pseudo-terminals.
type term struct{}

func startTerm(*Spec) (*term, error) {
	return nil, errors.New("terminals for runs are not available on this system")
}

// The following methods are never called.

func (*term) pid() int                       { return 0 }
func (*term) read([]byte, bool) (int, error) { return 0, errors.ErrUnsupported }
func (*term) write([]byte) (int, error)      { return 0, errors.ErrUnsupported }
func (*term) hurry()                         {}
func (*term) killRest()                      {}
func (*term) close()                         {}
func (*term) resize(int64, int64) error      { return errors.ErrUnsupported }
func (*term) wait() Exit                     { return Exit{} }
func (*term) stop(string, int64)             {}
func (*term) echoes() bool                   { return true }
func (*term) secret() bool                   { return false }

func adoptOrphans()                 {}
func reapOrphans(int) (stop func()) { return func() {} }
