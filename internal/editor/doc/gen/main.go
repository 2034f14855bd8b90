// Command gen writes the manual's page of words into the file named by its
// argument.
package main

import (
	"log"
	"os"

	"github.com/concerto-lang/concerto/internal/editor/doc"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	if err := os.WriteFile(os.Args[1], []byte(doc.Words()), 0o666); err != nil {
		log.Fatal(err)
	}
}
