package models

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// Refusal describes errors with which providers refuse a part of a request.
type Refusal struct {
	// Cause is what they refuse: one of the constants below.
	Cause string `json:"cause"`
	// Parameter is the field of an agent, if Cause is RefusedParameter.
	Parameter string   `json:"parameter"`
	Status    []int    `json:"status"` // HTTP statuses of the errors; nil means 400
	Texts     []string `json:"texts"`  // parts of their texts, in lower case; one of them suffices
	Source    []string `json:"source"` // where users have reported such errors
}

// Parts of requests that providers refuse.
const (
	RefusedAPI       = "api"       // chat completions, where the Responses API is required
	RefusedHidden    = "hidden"    // hidden content of earlier replies
	RefusedNative    = "native"    // a schema that is a member of the request
	RefusedTool      = "tool"      // a tool that the model must call, which carries a schema
	RefusedCaching   = "caching"   // marks and options of the provider's cache
	RefusedLimit     = "limit"     // the old name of the maximum number of tokens
	RefusedParameter = "parameter" // a value of the agent
	RefusedModel     = "model"     // the name of the model
)

//go:embed refusals.json
var refusalText []byte

var refusals = sync.OnceValue(func() (all []Refusal) {
	if err := json.Unmarshal(refusalText, &all); err != nil {
		panic(err) // the file is embedded
	}
	return all
})

// RefusalsIn returns the refusals that an error with a status and a text may be, the most specific
// ones first.
func RefusalsIn(status int, text string) (all []Refusal) {
	text = strings.ToLower(text)
	for _, r := range refusals() {
		isStatus := slices.Contains(r.Status, status) || r.Status == nil && status == 400
		if isStatus && slices.ContainsFunc(r.Texts, func(part string) bool { return strings.Contains(text, part) }) {
			all = append(all, r)
		}
	}
	return all
}
