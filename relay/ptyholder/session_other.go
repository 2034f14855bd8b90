//go:build unix && !linux

package ptyholder

// groupsOf returns no groups, because they are not available on this system. Only the run's own
// process group receives signals.
func groupsOf(int) []int { return nil }

// echoes returns true, because the terminal's mode is not available on this system.
func (t *term) echoes() bool { return true }

func (t *term) secret() bool { return false }

// adoptOrphans does nothing on this system.
func adoptOrphans() {}

func reapOrphans(int) (stop func()) { return func() {} }
