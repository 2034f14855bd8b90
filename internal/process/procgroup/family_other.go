//go:build !linux

package procgroup

func becomeReaper() {}

// onStarter calls do. On this system, children survive the thread that started them, so no special
// thread is needed.
func onStarter(do func()) { do() }

// endFamily does nothing: orphans do not become children of this process.
func (f *childSet) endFamily(relative) {}

// sweepOrphans does nothing: orphans do not become children of this process.
func (f *childSet) sweepOrphans(string) (clean bool) { return true }
