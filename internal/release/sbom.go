package release

import (
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// bom is an SBOM in the format CycloneDX 1.6.
type bom struct {
	Schema       string          `json:"$schema"`
	Format       string          `json:"bomFormat"`
	SpecVersion  string          `json:"specVersion"`
	SerialNumber string          `json:"serialNumber"`
	Version      int             `json:"version"`
	Metadata     bomMetadata     `json:"metadata"`
	Components   []bomComponent  `json:"components"`
	Dependencies []bomDependency `json:"dependencies"`
}

type bomMetadata struct {
	Timestamp  string        `json:"timestamp"`
	Component  bomComponent  `json:"component"`
	Properties []bomProperty `json:"properties"`
}

type bomComponent struct {
	Type       string        `json:"type"`
	Ref        string        `json:"bom-ref"`
	Name       string        `json:"name"`
	Version    string        `json:"version"`
	Licenses   []bomLicence  `json:"licenses"`
	PURL       string        `json:"purl"`
	Properties []bomProperty `json:"properties,omitempty"`
}

// bomLicence is the identifier of a licence, or an expression of several.
type bomLicence struct {
	License    *bomLicenceID `json:"license,omitempty"`
	Expression string        `json:"expression,omitempty"`
}

type bomLicenceID struct {
	ID string `json:"id"`
}

type bomProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type bomDependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// Names of properties of the SBOM.
const (
	commitProperty  = "concerto:commit"
	sumProperty     = "concerto:sum"     // of a Go module, as in go.sum
	programProperty = "concerto:program" // a program that contains the component
)

// licence is the licence of the project.
const licence = "Apache-2.0"

// mainModule is the path of the project's module.
const mainModule = "github.com/concerto-lang/concerto"

// writeSBOM writes the list of the components of a target.
func (r *release) writeSBOM(p *parts, file string) error {
	main := bomComponent{Type: "application", Ref: r.folder(p.target), Name: "concerto", Version: r.version, Licenses: bomLicences(licence),
		PURL: (&component{ecosystem: "golang", path: mainModule, version: r.version}).purl()}
	b := bom{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		SerialNumber: serialNumber(r.version, p.target, r.commit),
		Metadata: bomMetadata{Timestamp: r.date.Format(time.RFC3339), Component: main,
			Properties: []bomProperty{{commitProperty, r.commit}}}}
	var refs []string
	for _, c := range p.components {
		described := bomComponent{Type: "library", Ref: c.purl(), Name: c.path, Version: c.version, Licenses: bomLicences(c.licence), PURL: c.purl()}
		if c.sum != "" {
			described.Properties = append(described.Properties, bomProperty{sumProperty, c.sum})
		}
		for _, program := range c.programs {
			described.Properties = append(described.Properties, bomProperty{programProperty, program})
		}
		b.Components = append(b.Components, described)
		refs = append(refs, described.Ref)
	}
	slices.SortFunc(b.Components, func(x, y bomComponent) int { return strings.Compare(x.Ref, y.Ref) })
	slices.Sort(refs)
	b.Dependencies = []bomDependency{{main.Ref, refs}}
	return create(file, func(w io.Writer) error { return writeJSON(w, b) })
}

func bomLicences(expression string) []bomLicence {
	if strings.Contains(expression, " ") {
		return []bomLicence{{Expression: expression}}
	}
	return []bomLicence{{License: &bomLicenceID{expression}}}
}

// serialNumber returns a UUID (version 5) of a target of a release.
func serialNumber(version string, t Target, commit string) string {
	namespace := []byte("\x6b\xa7\xb8\x11\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8") // of addresses, by RFC 9562
	name := strings.Join([]string{"https://" + mainModule, version, t.String(), commit}, "/")
	id := sha1.Sum(append(namespace, name...))
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}

// writeJSON writes a value as indented JSON in which <, > and & are not escaped.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}
