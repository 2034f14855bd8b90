// Package evalprogram generates programs with an eval, for tests that stop evals and continue them.
package evalprogram

import (
	"math/rand/v2"
	"strings"
)

// Options describes the programs of a test.
type Options struct {
	// Connection is the connection of the agents A and B.
	Connection string
	// Declarations is added to the program.
	Declarations string
	// Statements are used in addition to those of all programs. Each may set x to a text. In it,
	// `#` is the number of the statement.
	Statements []string
}

// statements call agents one after another, concurrently and in loops, wait, read the clock and use
// random numbers. They do not depend on the order in which answers arrive.
var statements = []string{
	`x = ask("# ${x}");`,
	`let (a#, b#) = await (ask("#.1 ${x}"), check("#.2 ${x}")); x = a# + b#;`,
	`x = (parallel for i in 0..1 { ask("#.${i} ${x}") }).join("");`,
	`x = (parallel for i in 0..4 { ask("#.${i} ${x}") }).join("");`,
	`x = (parallel for i in 0..2 { check("# ${ask("#.${i} ${x}")}") }).join("");`,
	`std::time::sleep(1);`,
	`x = ask("# ${x} ${std::random::int(0, 1000)}");`,
	`let at# = std::time::monotonic_ms(); x = ask("#.1 ${x}"); x = check("#.2 ${x} ${std::time::monotonic_ms() < at#}");`,
}

// Random returns a program with the eval `scored`, which runs three rows twice. Its statements use
// only the first four characters of each answer, and the last answer must begin with a number.
func Random(random *rand.Rand, o Options) string {
	all := append(append([]string{}, statements...), o.Statements...)
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(`agent A uses # { }
agent B uses # { }
fn ask(p: String) -> String { A.execute(p).unwrap().text.slice(0, 4) }
fn check(p: String) -> String { B.execute(p).unwrap().text.slice(0, 4) }
fn rows() -> Array<Int> { [1, 2, 3] }
struct Metrics { last: Int, even: Bool }
`, "#", o.Connection))
	b.WriteString(o.Declarations)
	b.WriteString(`
@eval(data: rows, repeat: 2)
fn scored(row: Int) -> Metrics {
    let mut x = "${row} ${std::random::int(0, 1000000)}";
`)
	for n := range 2 + random.IntN(5) {
		b.WriteString("    " + strings.ReplaceAll(all[random.IntN(len(all))], "#", string(rune('0'+n))) + "\n")
	}
	b.WriteString(`    let last = ask("last ${x}").parse_int().unwrap();
    Metrics { last: last, even: last % 2 == 0 }
}
`)
	return b.String()
}
