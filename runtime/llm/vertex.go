package llm

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/schema"
)

// vertex implements Gemini's API on Google Cloud. The path contains the project and the location,
// and an access token replaces the key.
type vertex struct {
	gemini
	under string // path up to the name of the model
}

// vertexAddress returns the address of the API for a location.
func vertexAddress(location string) string {
	switch location {
	case "":
		return ""
	case "global":
		return "https://aiplatform.googleapis.com/v1"
	}
	return "https://" + location + "-aiplatform.googleapis.com/v1"
}

func openVertex(c *Connection, w *world) (Provider, error) {
	switch {
	case c.Project == "":
		return nil, errors.New("vertex needs `project = \"…\"`: the project of Google Cloud")
	case c.Location == "":
		return nil, errors.New("vertex needs `location = \"…\"`: a region such as us-central1, or global")
	}
	e, err := openEndpoint(c, w)
	if err != nil {
		return nil, err
	}
	under := "/projects/" + inPath(c.Project) + "/locations/" + inPath(c.Location) + "/publishers/google"
	return &remote{wire: vertex{under: under}, endpoint: e, adapt: schema.Gemini.Adapt}, nil
}

func (p vertex) path(req *Request, stream bool) string { return p.under + p.gemini.path(req, stream) }
