// Package parallel distributes independent parts of work over the processors,
// for the stages of the compiler.
package parallel

import (
	"runtime"
	"sync"
)

// Do divides the numbers from 0 to n (exclusive) into consecutive parts and calls work for each
// part concurrently. There is at most one part for each processor, and no part is shorter than
// least unless n is. Do returns when all calls have returned. If calls panic, Do panics with the
// value of the first part that panicked.
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
