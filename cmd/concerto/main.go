// Command concerto checks, builds and runs Concerto programs (spec/18-cli.md).
package main

import (
	"os"

	"github.com/concerto-lang/concerto/internal/cli"
)

// release is the version of the command and of the language. `make release` sets it and the
// variables below with -ldflags "-X main.release=…". Other builds have commit and date from git.
var release = "0.1.0-dev"

var (
	commit   string
	date     string // of the commit, as in RFC 3339
	modified string // "true" if the sources differ from the commit
)

func main() {
	os.Exit(cli.Main(cli.Build{Release: release, Commit: commit, Date: date, Modified: modified == "true"}))
}
