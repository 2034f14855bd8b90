//go:build !unix

package ptyholder

import "errors"

// term does not exist here.
type term struct{}

var errNoTerm = errors.New("runs on a terminal need Linux or macOS")

func startTerm(*Spec) (*term, error)         { return nil, errNoTerm }
func (*term) pid() int                       { return 0 }
func (*term) read([]byte, bool) (int, error) { return 0, errNoTerm }
func (*term) hurry()                         {}
func (*term) write([]byte) (int, error)      { return 0, errNoTerm }
func (*term) close()                         {}
func (*term) resize(int64, int64) error      { return errNoTerm }
func (*term) wait() Exit                     { return Exit{Code: -1} }
func (*term) stop(string, int64)             {}
func (*term) endRest()                       {}
func (*term) echoes() bool                   { return true }
func (*term) secret() bool                   { return false }
