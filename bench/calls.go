package main

import "fmt"

// callsMeasured is the number of calls for each kind of call.
const callsMeasured = 5_000_000

// calling compares a kind of method call with direct calls. The result is the time for each call in
// nanoseconds, without the start of the process.
func calling(name, title, way string) measure {
	return measure{name: name, title: title, unit: "ns", target: 3, ours: callTime(way), peer: callTime("direct"), peers: "a direct call"}
}

func callTime(way string) func(*lab) (float64, error) {
	return func(l *lab) (float64, error) {
		var times [2]float64
		for i, n := range []int{callsMeasured, 0} {
			p, err := l.process(l.dir, l.bin("concerto"), "run", l.program("calls", "main.conc"), "--", way, fmt.Sprint(n))
			if err != nil {
				return 0, err
			}
			times[i] = p.cpu
		}
		return (times[0] - times[1]) * 1e6 / callsMeasured, nil
	}
}
