// Command gen writes the files generated from the instruction set's table: its reference to the
// file that the first argument names, its constants to the second.
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
