package procgroup

import (
	"os"
	"os/signal"
)

// Discard makes this process ignore signals. Processes that it starts have the default action for
// these signals. With signal.Ignore or nohup they would inherit that the signals are ignored.
func Discard(signals ...os.Signal) { signal.Notify(make(chan os.Signal, 1), signals...) }
