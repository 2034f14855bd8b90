// Command gen writes the files that are generated from the table of the instruction set. The first
// argument is the file for the reference, the second the file for the constants.
package main

import (
	"log"
	"os"

	"github.com/concerto-lang/concerto/ir"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: gen REFERENCE CONSTANTS")
	}
	for i, text := range []string{ir.Reference(), ir.Opcodes()} {
		if err := os.WriteFile(os.Args[i+1], []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
