// Command gen writes the reference of the diagnostics to the file named by its argument.
package main

import (
	"log"
	"os"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	if err := os.WriteFile(os.Args[1], []byte(diag.Reference()), 0o644); err != nil {
		log.Fatal(err)
	}
}
