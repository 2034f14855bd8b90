// Command gen writes the reference of the names in OpenTelemetry to the file named by
// its argument.
package main

import (
	"log"
	"os"

	"github.com/concerto-lang/concerto/internal/engine/telemetry"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	if err := os.WriteFile(os.Args[1], []byte(telemetry.Reference()), 0o644); err != nil {
		log.Fatal(err)
	}
}
