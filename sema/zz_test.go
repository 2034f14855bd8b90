package sema_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/source"
	"github.com/concerto-lang/concerto/stdlib"
	"golang.org/x/tools/txtar"
)

func TestZZ(t *testing.T) {
	fs, _ := filepath.Glob(os.Getenv("ZZ"))
	for _, f := range fs {
		a, _ := txtar.ParseFile(f)
		for _, s := range a.Files {
			if filepath.Ext(s.Name) != ".conc" {
				continue
			}
			mf := &sema.Manifest{File: "Concerto.toml", Connections: map[string]sema.ManifestConnection{}, Hosts: map[string]sema.ManifestHost{}}
			for _, x := range a.Files {
				if x.Name == "Concerto.toml" {
					for _, m := range regexp.MustCompile(`(?m)^\[hosts\.(\w+)\]`).FindAllSubmatch(x.Data, -1) {
						mf.Hosts[string(m[1])] = sema.ManifestHost{}
					}
					for _, m := range regexp.MustCompile(`(?m)^\[connections\.(\w+)\]`).FindAllSubmatch(x.Data, -1) {
						mf.Connections[string(m[1])] = sema.ManifestConnection{DefaultModel: "m"}
					}
				}
			}
			file, list := parser.Parse(source.NewFile(s.Name, s.Data))
			_, found := sema.Check(sema.Config{Library: stdlib.Library(), Manifest: mf}, file)
			list.Append(found)
			for _, d := range list.Sorted() {
				p := d.File.Position(d.Span.Start)
				t.Logf("%s/%s:%v %s %s", filepath.Base(f), d.File.Name, p, d.Info.Code, d.Message)
			}
		}
	}
}
