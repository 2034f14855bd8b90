//go:build unix && !linux

package ptyholder

// groupsOf is not available on this system; only the run's own group is signalled.
func groupsOf(int) []int { return nil }

// echoes returns true, because the mode is unknown on this system.
func (t *term) echoes() bool { return true }

func (t *term) secret() bool { return false }

// adoptOrphans does nothing on this system.
func adoptOrphans() {}

func reapOrphans(int) (stop func()) { return func() {} }
