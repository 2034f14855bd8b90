package procgroup

import (
	"os"
	"os/signal"
)

// Discard has signals do nothing in this process. The processes that it starts get the default
// disposition of the signals; of signal.Ignore, and of nohup, they inherit that they are ignored.
func Discard(signals ...os.Signal) { signal.Notify(make(chan os.Signal, 1), signals...) }
