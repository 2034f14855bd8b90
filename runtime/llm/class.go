package llm

import http "github.com/concerto-lang/concerto/runtime/llm/httpport"

// Class is the category of a failure. It determines what can be done about the failure, and is the
// `reason` of an AgentError.
type Class string

// The classes.
const (
	ClassAuth          Class = "auth"           // the key is missing, wrong, or lacks a permission
	ClassQuota         Class = "quota"          // the account's credit is used up
	ClassRate          Class = "rate"           // too many requests or tokens in a short time
	ClassOverloaded    Class = "overloaded"     // the provider is overloaded
	ClassServer        Class = "server"         // the provider failed
	ClassContextLength Class = "context_length" // the conversation is too long for the model
	ClassContentFilter Class = "content_filter" // the provider refuses the content
	ClassRefusal       Class = "refusal"        // the model refuses to answer
	ClassLength        Class = "length"         // the reply was cut off before any text
	ClassBadRequest    Class = "bad_request"    // the provider rejects the request
	ClassNotFound      Class = "not_found"      // no such model or address
	ClassConnection    Class = "connection"     // the connection could not be made, or broke
	ClassTimeout       Class = "timeout"        // no answer in time
	ClassBadAnswer     Class = "bad_answer"     // a response that cannot be read
	ClassLimit         Class = "limit"          // the run's [limits]
	ClassScript        Class = "script"         // the script has no reply
	ClassConfig        Class = "config"         // the connection's configuration is invalid
	ClassPermission    Class = "permission"     // the run may not use the connection
)

// classes specifies for each class whether the same request may succeed later, whether another
// connection may succeed now, and the next step for the user.
var classes = map[Class]struct {
	retry, elsewhere bool
	hint             string
}{
	ClassAuth:          {hint: "the key has no access to this model"},
	ClassQuota:         {elsewhere: true, hint: "the account has no credit left, or has reached a limit of its own: raise it, or give the connection a fallback"},
	ClassRate:          {retry: true, elsewhere: true, hint: "give the agent a retry_policy, or the connection a rate_limit"},
	ClassOverloaded:    {retry: true, elsewhere: true, hint: "give the agent a retry_policy, or the connection a fallback"},
	ClassServer:        {retry: true, elsewhere: true, hint: "the provider failed: give the agent a retry_policy, or the connection a fallback"},
	ClassContextLength: {elsewhere: true, hint: "send less, or choose a model with a larger context"},
	ClassContentFilter: {hint: "change the prompt: the provider rejects its content"},
	ClassRefusal:       {hint: "change the prompt"},
	ClassLength:        {hint: "raise max_tokens, or lower reasoning_effort"},
	ClassBadRequest:    {hint: "check the agent's fields against what the model supports"},
	ClassNotFound:      {hint: "check the model's name and the connection's base_url"},
	ClassConnection:    {retry: true, elsewhere: true},
	ClassTimeout:       {retry: true, elsewhere: true},
	ClassBadAnswer:     {elsewhere: true},
	ClassLimit:         {},
	ClassScript:        {},
	ClassConfig:        {},
	ClassPermission:    {},
}

// classOf returns the class for an HTTP status. It is used if the body of the response does not
// determine the class.
func classOf(status int) Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ClassAuth
	case http.StatusPaymentRequired:
		return ClassQuota
	case http.StatusNotFound:
		return ClassNotFound
	case http.StatusRequestEntityTooLarge:
		return ClassContextLength
	case http.StatusTooManyRequests:
		return ClassRate
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusGatewayTimeout:
		return ClassServer
	case http.StatusServiceUnavailable, 529:
		return ClassOverloaded
	case http.StatusNotImplemented:
		return ClassBadRequest
	}
	switch {
	case status >= 500:
		return ClassServer
	case status >= 300 && status < 400:
		return ClassConfig
	}
	return ClassBadRequest
}
