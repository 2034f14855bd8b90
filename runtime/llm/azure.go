package llm

import (
	"errors"
	"net/url"
	"strings"

	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
)

// azure implements OpenAI's API on Azure. The model is a deployment in the path, and the API
// version is in the query.
type azure struct {
	openAI
	version string
}

// azureVersion is the default API version.
const azureVersion = "2024-10-21"

func openAzure(c *Connection, w *world) (Provider, error) {
	if c.BaseURL == "" {
		return nil, errors.New("azure has a URL for each resource: write `base_url = \"https://NAME.openai.azure.com\"`")
	}
	e, err := openEndpoint(c, w)
	if err != nil {
		return nil, err
	}
	// Azure expects an API key in a separate header. A token of Entra ID, which the user writes
	// with its scheme, is sent as a bearer token.
	e.authorize = func(h http.Header, key string) {
		if scheme, _, ok := strings.Cut(key, " "); ok && strings.EqualFold(scheme, "Bearer") {
			authorize(h, key)
			return
		}
		h.Set("Api-Key", key)
	}
	p := azure{version: c.APIVersion}
	if p.version == "" {
		p.version = azureVersion
	}
	return &remote{wire: p, endpoint: e}, nil
}

func (p azure) path(req *Request, _ bool) string {
	return "/openai/deployments/" + inPath(req.Model) + "/chat/completions?api-version=" + url.QueryEscape(p.version)
}

// body sets the limit on tokens. If the agent sets a reasoning effort, it uses the member name for
// reasoning models, and otherwise the name for all other models.
func (p azure) body(req *Request, w *replySchema, stream bool) any {
	return openAI{own: req.Effort != ""}.body(req, w, stream)
}
