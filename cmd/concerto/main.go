// Command concerto checks, builds and runs Concerto programs (spec/18-cli.md).
package main

import (
	"os"

	"github.com/concerto-lang/concerto/internal/cli"
)

// release is the version of the command and of the language. Releases set
// it with -ldflags "-X main.release=…".
var release = "0.1.0-dev"

func main() { os.Exit(cli.Main(release)) }
