//go:build unix && !linux

package ptyholder

// groupsOf is not known here: the run's own group is signalled.
func groupsOf(int) []int { return nil }

// echoes is not known here: what is typed is taken for shown.
func (t *term) echoes() bool { return true }

func (t *term) secret() bool { return false }

// adoptOrphans is not possible here.
func adoptOrphans() {}

func reapOrphans(int) (stop func()) { return func() {} }
