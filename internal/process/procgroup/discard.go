package procgroup

import (
	"os"
	"os/signal"
)

// Discard makes this process ignore signals, while the processes that it starts get their default
// disposition. With signal.Ignore or nohup they would inherit that the signals are ignored.
func Discard(signals ...os.Signal) { signal.Notify(make(chan os.Signal, 1), signals...) }
