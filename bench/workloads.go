package main

// workloads are all programs that Concerto and its peers run. The first six
// have targets of their own; the others stand as targets in general: not
// slower than Lua 5.4, at most 0.35 of the best Go VM's time, half of
// CPython's.
var workloads = []workload{
	{name: "fib", title: "fib(32)", ops: 7_049_155, op: "call", lua: 0.45, goVM: 0.12},
	{name: "loop", title: "integer loop, 30M turns", ops: 30_000_000, op: "turn", lua: 0.75, goVM: 0.10},
	{name: "sieve", title: "sieve of 2M", ops: 2_000_000, op: "number", lua: 0.45, goVM: 0.17},
	{name: "words", title: "1M strings built and counted in a map", ops: 1_000_000, op: "string", lua: 0.70, goVM: 0.20},
	{name: "nbody", title: "n-body on structs, 200k steps", ops: 200_000, op: "step", lua: 0.55, goVM: 0.08},
	{name: "closures", title: "map, filter, reduce over 1M, three times", ops: 7_000_000, op: "call", lua: 0.65, goVM: 0.15},
}

// further is a workload with the targets of all but the first six.
func further(name, title string, ops int, op string) workload {
	return workload{name: name, title: title, ops: ops, op: op, lua: 1.0, goVM: 0.35, python: 0.5}
}
