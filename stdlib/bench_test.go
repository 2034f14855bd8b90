package stdlib_test

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// BenchmarkCheck measures the time that the library adds to the check of a program which uses a
// small part of it. The library's files are already parsed.
func BenchmarkCheck(b *testing.B) {
	for name, text := range map[string]string{
		"none":    `fn main() { emit("a", 1); }`,
		"println": `fn main() { println("hello"); }`,
		"array":   `fn main() { emit("a", [3, 1, 2].map(|x| x + 1).filter(|x| x > 2).sort()); }`,
		"string":  `fn main() { emit("a", "a,b".split(",")); }`,
		"host":    `host H { connector: h } fn main() { emit("a", H.execute("x")?); }`,
		"agent":   `agent A uses scripted { } fn main() { emit("a", A.execute("x")?.text); }`,
	} {
		b.Run(name, func(b *testing.B) {
			file, _ := parser.Parse(source.NewFile("main.conc", []byte(text)))
			config := sema.Config{Library: stdlib.Library(), Manifest: &sema.Manifest{Hosts: map[string]sema.ManifestHost{"h": {}}}}
			for b.Loop() {
				if _, diags := sema.Check(config, file); diags.HasErrors() {
					b.Fatal(diags.Sorted()[0].Message)
				}
			}
		})
	}
}

// BenchmarkParse measures the time for parsing the whole library.
func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		for _, parse := range stdlib.Parsers() {
			parse()
		}
	}
}
