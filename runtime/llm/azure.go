package llm

import (
	"errors"
	"net/url"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/models"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
)

// azure implements OpenAI's chat completions on Azure. The model is a deployment in the path, and
// the API version is in the query.
type azure struct {
	openAI
	version string
}

// azureResponses implements the Responses API on Azure. The model is a deployment in the body
// (learn.microsoft.com/azure/foundry/openai/how-to/responses).
type azureResponses struct {
	responses
	version string // a version without a date, such as preview; "" for the current one
}

// azureVersion is the default version of chat completions.
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
	chat, current := azure{version: azureVersion}, azureResponses{responses: responses{log: w.log}}
	if models.IsDated(c.APIVersion) {
		chat.version = c.APIVersion
	} else {
		current.version = c.APIVersion
	}
	return newOpenAI(c, e, chat, current)
}

func (p azureResponses) path(*Request, bool) string {
	path := "/openai/v1/responses"
	if p.version != "" {
		path += "?api-version=" + url.QueryEscape(p.version)
	}
	return path
}

func (p azure) path(req *Request, _ bool) string {
	return "/openai/deployments/" + inPath(req.Model) + "/chat/completions?api-version=" + url.QueryEscape(p.version)
}

// body sets the limit on tokens. If the agent sets a reasoning effort, it uses the member name for
// reasoning models, and otherwise the name for all other models.
func (p azure) body(req *Request, w *replySchema, stream bool) any {
	return openAI{own: req.Effort != ""}.body(req, w, stream)
}
