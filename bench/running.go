package main

import "fmt"

// starting measures 20 short processes and returns the least value.
func starting(value func(outcome) float64, command func(*lab) []string) func(*lab) (float64, error) {
	return func(l *lab) (float64, error) {
		return best(20, func() (float64, error) {
			p, err := l.process(l.dir, command(l)...)
			return value(p), err
		})
	}
}

func wallTime(p outcome) float64 { return p.wall }
func cpuTime(p outcome) float64  { return p.cpu }

// The commands whose start is measured.
func runOne(l *lab) []string {
	return []string{l.bin("concerto"), "run", l.program("one", "main.conc")}
}
func printVersion(l *lab) []string { return []string{l.bin("concerto"), "version"} }
func runEmpty(l *lab) []string     { return []string{l.bin("empty")} }

// growth measures a program with two sizes and returns the ratio of the times, without the start of
// the process.
func growth(program, large, small string) func(*lab) (float64, error) {
	return func(l *lab) (float64, error) {
		start, err := starting(wallTime, runOne)(l)
		if err != nil {
			return 0, err
		}
		times := [2]float64{}
		for i, n := range []string{large, small} {
			times[i], err = best(5, func() (float64, error) {
				p, err := l.process(l.dir, l.bin("concerto"), "run", l.program(program, "main.conc"), "--", n)
				return p.wall, err
			})
			if err != nil {
				return 0, err
			}
		}
		return (times[0] - start) / (times[1] - start), nil
	}
}

// waiting measures the peak resident memory of a process in which n tasks wait at the same time.
func waiting(name string, n int, title string, most float64) measure {
	return measure{name: name, title: title, unit: "MB", fixed: most, ours: func(l *lab) (float64, error) {
		p, err := l.process(l.dir, l.bin("concerto"), "run", l.program("waiting", "main.conc"), "--", fmt.Sprint(n))
		if err == nil && p.out != fmt.Sprint(n*(n-1)/2) {
			err = fmt.Errorf("the program with %d tasks printed %q", n, p.out)
		}
		return float64(p.memory) / (1 << 20), err
	}}
}
