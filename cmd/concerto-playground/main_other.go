//go:build !js

// Command concerto-playground is the program of the playground's workers. It is built for
// WebAssembly only.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "concerto-playground: run `make playground`, which builds this program for a page")
	os.Exit(2)
}
