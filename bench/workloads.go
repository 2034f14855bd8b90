package main

// workload is a program that exists for several engines, which must all return the same result.
// lua, goVM and python are the targets: the maximum ratio between Concerto's CPU time and that of
// the engine, or 0 for no target.
type workload struct {
	name   string // name of the workload's directory in bench/programs
	title  string
	ops    int    // number of operations, by which the allocations are divided
	op     string // name of an operation
	lua    float64
	goVM   float64 // ratio to the fastest VM written in Go
	python float64
}

// workloads contains all programs that Concerto and other engines run. The first six have targets
// of their own, and further sets the targets of the others.
var workloads = []workload{
	{name: "fib", title: "fib(32)", ops: 7_049_155, op: "call", lua: 0.45, goVM: 0.12},
	{name: "loop", title: "integer loop, 30M turns", ops: 30_000_000, op: "turn", lua: 0.75, goVM: 0.10},
	{name: "sieve", title: "sieve of 2M", ops: 2_000_000, op: "number", lua: 0.45, goVM: 0.17},
	{name: "words", title: "1M strings built and counted in a map", ops: 1_000_000, op: "string", lua: 0.70, goVM: 0.20},
	{name: "nbody", title: "n-body on structs, 200k steps", ops: 200_000, op: "step", lua: 0.55, goVM: 0.08},
	{name: "closures", title: "map, filter, reduce over 1M, three times", ops: 7_000_000, op: "call", lua: 0.65, goVM: 0.15},

	further("strings", "split, replace, interpolate: 10 MB", 225_000, "line"),
	withoutLua(further("json", "JSON: build, write, read, walk 5 MB", 36_000, "record")),
	further("states", "structs that go through enum states, match", 1_000_000, "step"),
	further("higher", "functions from functions, through Any and generics", 3_000_000, "call"),
	further("maps", "maps of 1M entries, Int and String keys", 5_500_000, "access"),
	further("errors", "1M error paths: `?`, try and catch", 1_000_000, "path"),
	further("traits", "methods through traits", 1_500_000, "object"),
	further("sort", "heapsort of 200k in place, the library's sort", 200_000, "element"),
	further("matrix", "matrix product 300×300", 27_000_000, "turn"),
	further("queue", "queue of 1,000 by push and remove", 200_000, "turn"),
	further("recursion", "10,000 calls deep, 500 times", 5_000_000, "call"),
	withoutLua(further("characters", "1M characters of a text beyond ASCII by index", 1_000_007, "character")),
	further("slices", "an array of 2,000 taken apart by recursion, 20 times", 40_000, "element"),
	further("tasks", "10,000 tasks hand a token on, 20 times", 200_000, "task"),

	{name: "replies", title: "10,000 JSON replies read as a schema", ops: 10_000, op: "reply", python: 0.6},

	stateful("richards", "a scheduler whose tasks keep state in enums", 568_330, "turn", 0.75),
	stateful("crc", "CRC-32 of 12.5 MB, by bit operations", 12_500_000, "byte", 0.45),
	stateful("knucleotide", "slices of a text counted in a map", 3_000_000, "slice", 0.9),
	stateful("levenshtein", "edit distances of 14,400 pairs of words", 5_760_000, "cell", 0.8),
	stateful("dijkstra", "shortest paths in a grid, by the library's PriorityQueue", 202_500, "field", 0.75),
	stateful("counting", "10 MB of words built and counted", 1_430_000, "word", 0.75),
	stateful("queens", "twelve queens on a board", 856_189, "call", 0.65),
	stateful("life", "the game of life, 200 generations of 128×128", 3_276_800, "cell", 0.65),
	stateful("lu", "LU decomposition of 360×360", 15_616_860, "step", 0.65),
	stateful("fannkuch", "permutations of nine numbers", 362_880, "permutation", 0.65),
}

// stateful returns a workload that stores and changes state. Its only target is relative to Lua.
func stateful(name, title string, ops int, op string, lua float64) workload {
	return workload{name: name, title: title, ops: ops, op: op, lua: lua}
}

// further returns a workload with the targets that all but the first six have.
func further(name, title string, ops int, op string) workload {
	return workload{name: name, title: title, ops: ops, op: op, lua: 1.0, goVM: 0.35, python: 0.5}
}

// withoutLua returns w without a target relative to Lua, because Lua's library has no equivalent.
func withoutLua(w workload) workload {
	w.lua = 0
	return w
}
