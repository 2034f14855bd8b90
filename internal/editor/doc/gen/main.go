// Command gen writes spec/words.md. Its argument is the path of the file.
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
