// Command gen generates the Go types of the language server protocol that the server uses. Its
// input is an excerpt of the published meta model, stored in this directory. With -from FILE it
// first extracts the excerpt from the complete meta model.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	from := flag.String("from", "", "the published metaModel.json, of which to keep the part in use")
	flag.Parse()
	if err := run(".", *from); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// The paths of the files, relative to the generator's directory.
const (
	modelFile = "metaModel.json"
	useFile   = "use.txt"
	outDir    = "../protocol"
)

func run(dir, from string) error {
	if from == "" {
		from = filepath.Join(dir, modelFile)
	}
	files, model, err := generate(filepath.Join(dir, useFile), from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, modelFile), model, 0o644); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, outDir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the Go files and the used part of the model.
func generate(use, from string) (files map[string][]byte, model []byte, err error) {
	u, err := readUse(use)
	if err != nil {
		return nil, nil, err
	}
	m, err := readModel(from)
	if err != nil {
		return nil, nil, err
	}
	m, err = m.prune(u)
	if err != nil {
		return nil, nil, err
	}
	if model, err = m.text(); err != nil {
		return nil, nil, err
	}
	files, err = m.code(u)
	return files, model, err
}
