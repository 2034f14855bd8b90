// Command gen writes the table of what each system supports into the chapter of the manual in its
// argument.
package main

import (
	"log"
	"os"

	"github.com/concerto-lang/concerto/internal/process/procgroup/systems"
	"github.com/concerto-lang/concerto/stdlib"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen CHAPTER")
	}
	old, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	text, ok := stdlib.Part{Name: "what each system supports", Text: systems.Table()}.In(string(old))
	if !ok {
		log.Fatal(os.Args[1] + " has no lines for the table")
	}
	if err := os.WriteFile(os.Args[1], []byte(text), 0o666); err != nil {
		log.Fatal(err)
	}
}
