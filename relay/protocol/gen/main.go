// Command gen writes the manual's chapter on the relay's protocol, and the JSON Schemas of the
// messages, to a directory.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/relay/protocol"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: gen DIR")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func write(dir string) error {
	schemas := filepath.Join(dir, "relay")
	if err := os.RemoveAll(schemas); err != nil {
		return err
	}
	if err := os.MkdirAll(schemas, 0o755); err != nil {
		return err
	}
	files := map[string][]byte{filepath.Join(dir, "relay.md"): []byte(protocol.Reference())}
	for _, m := range protocol.Messages {
		files[filepath.Join(schemas, m.Type+".json")] = append(protocol.Schema(m.Data), '\n')
		if m.Result != nil {
			files[filepath.Join(schemas, m.Type+".result.json")] = append(protocol.Schema(m.Result), '\n')
		}
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
