// Package testllm starts a scripted model server for tests of model providers and of the command.
// It validates each request against the API's published schema (requests/*.json), and against what
// its model accepts.
package testllm

import (
	"embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/text/jsonschema"
)

//go:embed requests/*.json
var schemas embed.FS

// headers are the headers that a request to an API must have.
var headers = map[string]string{"anthropic": "Anthropic-Version", "bedrock": "Authorization"}

// rules check what an API requires of a request beyond its published schema.
var rules = map[string]func(body map[string]any) error{"anthropic": checkMarks, "responses": checkResponses}

// Start serves replies until Close.
func Start(replies ...modelserver.Reply) *modelserver.Server {
	s, err := modelserver.Start(check, replies...)
	if err != nil {
		panic(err)
	}
	s.CountWith((&cache{stored: map[[32]byte]bool{}}).count)
	return s
}

// compiled holds the published request schemas by API.
var compiled = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	all := map[string]*jsonschema.Schema{}
	files, err := schemas.ReadDir("requests")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := schemas.ReadFile("requests/" + f.Name())
		if err != nil {
			return nil, err
		}
		schema, wrong := jsonschema.Compile(text)
		if len(wrong) > 0 {
			return nil, fmt.Errorf("%s: %w", f.Name(), wrong[0])
		}
		all[strings.TrimSuffix(f.Name(), path.Ext(f.Name()))] = schema
	}
	return all, nil
})

// check validates a request against the API's published schema.
func check(api string, r *http.Request, text []byte) error {
	if r.Method != http.MethodPost {
		return fmt.Errorf("%s: the method is %s, not POST", api, r.Method)
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		return fmt.Errorf("%s: the content type is %q, not application/json", api, kind)
	}
	if h := headers[api]; h != "" && r.Header.Get(h) == "" {
		return fmt.Errorf("%s: the header %s is missing", api, h)
	}
	all, err := compiled()
	if err != nil {
		return err
	}
	doc, err := jsonschema.Decode(text)
	if err != nil {
		return fmt.Errorf("%s: %w", api, err)
	}
	if all[api] == nil {
		return fmt.Errorf("%s: the package has no published schema for this API", api)
	}
	if problems := all[api].Check(doc); len(problems) > 0 {
		return fmt.Errorf("the request does not match the published schema of %s: %s\n%s", api, jsonschema.FormatProblems(problems, 5), text)
	}
	if rules := rules[api]; rules != nil {
		if err := rules(doc.(map[string]any)); err != nil {
			return err
		}
	}
	return checkRow(api, r, doc.(map[string]any))
}

// Main serves the script in the file args[0] and writes the server's URL to stdout. It returns the
// exit code at the end of stdin.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: testllm SCRIPT")
		return 2
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	replies, err := modelserver.Load(text)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	s := Start(replies...)
	defer s.Close()
	fmt.Fprintln(stdout, s.URL)
	io.Copy(io.Discard, stdin)
	return 0
}
