// Command concerto-relay contains the relay's server, the daemon for the machines on which agents
// run, and the commands that connect to either of them (spec/24-relay.md).
package main

import (
	"os"

	"github.com/concerto-lang/concerto/internal/relaycli"
)

// release is the version of the program. Release builds set it with -ldflags "-X main.release=…".
var release = "0.1.0-dev"

func main() { os.Exit(relaycli.Main(release)) }
