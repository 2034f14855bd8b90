package testllm

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/models"
)

// providers contains the provider of each API whose models have rows.
var providers = map[string]string{"anthropic": "anthropic", "openai": "openai", "responses": "openai", "gemini": "gemini", "bedrock": "bedrock"}

// checkRow refuses what the table of models states that the model of a request refuses, as the
// vendor's server does.
func checkRow(api string, r *http.Request, body map[string]any) error {
	name, _ := body["model"].(string)
	switch api { // the model is a part of the path
	case "gemini":
		name, _, _ = strings.Cut(path.Base(r.URL.Path), ":")
	case "bedrock":
		name, _ = url.PathUnescape(path.Base(path.Dir(r.URL.EscapedPath())))
	}
	row := models.Lookup(providers[api], name)
	if providers[api] == "" || row == nil {
		return nil
	}
	q := read(api, body)
	use := models.Use{Model: name, Effort: q.effort}
	for field, isSet := range map[string]bool{"temperature": q.has("temperature"), "top_p": q.has("top_p", "topP"), "reasoning_effort": q.effort != ""} {
		if how, _ := row.Refuses(field, use); how != "" && isSet {
			return fmt.Errorf("%s: %s %s", api, name, how)
		}
	}
	_, hasBudget := row.Budget("low")
	switch forms := row.Schema; {
	case q.forcesTool && !slices.Contains(forms, models.Tool):
		return fmt.Errorf("%s: tool_choice forces tool use, which %s does not support", api, name)
	case q.isNative && !slices.Contains(forms, models.Native):
		return fmt.Errorf("%s: %s does not support a schema of the output", api, name)
	case q.isOff && row.Thinking == "always":
		return fmt.Errorf("%s: thinking of %s cannot be disabled", api, name)
	case api == "gemini" && q.effort != "" && hasBudget != q.hasBudget:
		return fmt.Errorf("gemini: %s does not support this form of thinkingConfig", name)
	case api == "openai" && q.has("tools") && !row.ChatAccepts(true, q.effort):
		return fmt.Errorf("openai: %s does not support tools in v1/chat/completions; use /v1/responses", name)
	case row.MaxOutput > 0 && q.limit > float64(row.MaxOutput):
		return fmt.Errorf("%s: max_tokens %v is more than the %d of %s", api, q.limit, row.MaxOutput, name)
	}
	return nil
}

// asked is what a request asks of a model.
type asked struct {
	settings             map[string]any // the object that contains sampling parameters
	body                 map[string]any
	effort               string
	limit                float64
	forcesTool, isNative bool
	isOff, hasBudget     bool // thinking is disabled, or has a number of tokens
}

func (q *asked) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return q.settings[name] != nil || q.body[name] != nil })
}

// read reads a request of an API.
func read(api string, body map[string]any) *asked {
	in := func(o map[string]any, name string) map[string]any { inner, _ := o[name].(map[string]any); return inner }
	text := func(o map[string]any, name string) string { s, _ := o[name].(string); return s }
	q := &asked{settings: body, body: body}
	switch api {
	case "anthropic":
		q.effort, q.isNative = text(in(body, "output_config"), "effort"), in(body, "output_config")["format"] != nil
		q.isOff = text(in(body, "thinking"), "type") == "disabled"
		choice := text(in(body, "tool_choice"), "type")
		q.forcesTool = choice == "tool" || choice == "any"
		q.limit, _ = body["max_tokens"].(float64)
	case "openai":
		q.effort = text(body, "reasoning_effort")
	case "responses":
		q.effort = text(in(body, "reasoning"), "effort")
	case "gemini":
		q.settings = in(body, "generationConfig")
		thinking := in(q.settings, "thinkingConfig")
		q.effort, q.hasBudget = text(thinking, "thinkingLevel"), thinking["thinkingBudget"] != nil
		if q.hasBudget {
			q.effort = "low" // any of its efforts
		}
		q.limit, _ = q.settings["maxOutputTokens"].(float64)
	case "bedrock":
		q.settings = in(body, "inferenceConfig")
		q.isNative = in(in(body, "outputConfig"), "textFormat") != nil
		q.forcesTool = in(in(body, "toolConfig"), "toolChoice") != nil
		q.limit, _ = q.settings["maxTokens"].(float64)
	}
	return q
}
