// Command gen draws the packages of package arch's policy and their imports, and writes the drawing
// to a file.
package main

import (
	"fmt"
	"os"

	"github.com/concerto-lang/concerto/internal/arch"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE.svg")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(arch.Picture()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
