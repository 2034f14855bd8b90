package mutants

import (
	"path/filepath"
	"slices"
)

// equalMutant identifies a mutant that no test can detect, with the reason: its change affects only
// speed, or a case that cannot occur.
type equalMutant struct{ pkg, file, fn, change, why string }

// equal lists the mutants to skip.
var equal = []equalMutant{
	{"lexer", "string.go", "decode", "without b.Grow(len(text))", "it saves copies"},
	{"lexer", "token.go", "wordHash", "uint8(len(s))*7 + s[0]*31 + s[len(s)-1]*13 + s[len(s)/2]*3 -> uint8(len(s))*7 + s[0]*31 + s[len(s)-1]*13 - s[len(s)/2]*3",
		"any hash finds the words"},
	{"lexer", "token.go", "wordHash", "13 -> 14", "any hash finds the words"},
	{"parser", "balance.go", "leftBraces", "p.balance.excess >= 0 -> p.balance.excess > 0", "balanced braces have no culprit"},
	{"parser", "nodes.go", "remaining", "return nodes{idents: n.idents, paths: n.paths, segments: n.segments} -> zero", "it saves allocations"},
	{"parser", "parser.go", "isolate", "1 -> 2", "only the sign counts"},
	{"internal/compile/optimize", "index.go", "reset", "0 -> 1", "any round that no slot has is correct"},
	{"internal/compile/optimize", "thread.go", "thread", "next < len(u.code) -> next <= len(u.code)", "no test is a function's last instruction"},
	{"internal/compile/optimize", "unit.go", "rewrite", "without s.spared, s.places = s.places, b.places", "it saves allocations"},
	{"internal/data/schema", "stored.go", "storedOption", "return s -> zero", "s is nil, the zero Slot"},
	{"internal/data/schema", "stored.go", "storedFloat", "return value.Nil, false -> zero", "nil is the zero Slot"},
	{"internal/data/schema", "stored.go", "storedFloat", "1 -> 2", "only the sign counts"},
	{"internal/data/schema", "stored.go", "encodeMap", "not (false)", "only the first failure is reported"},
	{"internal/data/schema", "lenient.go", "repair", "return s, false -> zero", "the caller ignores the value"},
	{"internal/data/schema", "lenient.go", "noteUnknownMembers", "2 -> 3", "the step only affects speed"},
	{"internal/data/schema", "convert.go", "convertPayload", "return out -> zero", "with an error the caller ignores the value"},
	{"runtime/host", "exchange.go", "Start", "without defer stop()", "the end of the run frees the same resources"},
	{"runtime/host", "outbox.go", "enqueueLine", "len(lines) > 0 -> len(lines) >= 0", "the writer checks once more"},
	{"runtime/host", "reader.go", "flushBatch", "not (n > batchMessages/16)", "it saves memory, or allocations"},
}

// matches reports whether s identifies m.
func (s equalMutant) matches(m *Mutant) bool {
	return s.file == filepath.Base(m.File) && s.fn == m.Func && s.change == m.Change
}

// isEqual reports whether equal contains a mutant of a package.
func isEqual(pkg string, m *Mutant) bool {
	return slices.ContainsFunc(equal, func(s equalMutant) bool { return s.pkg == pkg && s.matches(m) })
}
