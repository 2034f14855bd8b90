// Package parallel spreads work whose parts do not depend on each other over
// the processors, for the stages of the compiler.
package parallel

import (
	"runtime"
	"sync"
)

// Do cuts the numbers from 0 to n into consecutive parts, as many as there are
// processors and none shorter than least, and calls work for each. It returns
// when all are done. A panic of a part is the caller's; of several, the
// first part's.
func Do(n, least int, work func(from, to int)) {
	parts := min(runtime.GOMAXPROCS(0), n/max(least, 1))
	if parts <= 1 {
		work(0, n)
		return
	}
	panics := make([]any, parts)
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() {
			defer func() { panics[part] = recover() }()
			work(part*n/parts, (part+1)*n/parts)
		})
	}
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}
