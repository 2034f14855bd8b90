package llm

import "errors"

// vertex is Gemini's form as Google Cloud serves it: the path names the project
// and the location, and an access token takes the place of a key.
type vertex struct {
	gemini
	under string // the path up to the model
}

// vertexAddress is where the models of a location are.
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
	return &remote{vertex{under: under}, e}, nil
}

func (p vertex) path(req *Request, stream bool) string { return p.under + p.gemini.path(req, stream) }
