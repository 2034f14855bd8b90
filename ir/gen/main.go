// Command gen writes the files that are generated from the table of the instruction set. The first
// argument is the file for the reference, the second the file for the constants.
package main

import (
	"go/format"
	"log"
	"os"

	"github.com/concerto-lang/concerto/ir"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: gen REFERENCE CONSTANTS")
	}
	opcodes, err := format.Source([]byte(ir.Opcodes()))
	if err != nil {
		log.Fatal(err)
	}
	for i, text := range [][]byte{[]byte(ir.Reference()), opcodes} {
		if err := os.WriteFile(os.Args[i+1], text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
