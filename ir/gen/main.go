// Command gen writes the reference of the instruction set to the file named
// by its argument.
package main

import (
	"log"
	"os"

	"github.com/concerto-lang/concerto/ir"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	if err := os.WriteFile(os.Args[1], []byte(ir.Reference()), 0o644); err != nil {
		log.Fatal(err)
	}
}
