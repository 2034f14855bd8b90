package stdlib_test

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// BenchmarkCheck measures what the library costs when a program that uses a
// little of it is checked. The library's files have been parsed before.
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

// BenchmarkParse is what it costs to parse all of the library.
func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		for _, parse := range stdlib.Parsers() {
			parse()
		}
	}
}
