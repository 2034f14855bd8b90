package effect

import "encoding/json"

// The kinds of a test's requests: those that script mocks, and those that read the record. Only a
// run of `concerto test` performs them.
const (
	KindMockScript Kind = "mock.script"
	KindMockNext   Kind = "mock.next"
	KindMockAnswer Kind = "mock.answer"
	KindMockEnv    Kind = "mock.env"
	KindMockArgs   Kind = "mock.args"
	KindMockInput  Kind = "mock.input"
	KindMockTime   Kind = "mock.time"
	KindRecord     Kind = "test.record"
)

// MockScript is a `mock` statement: from here on the agent or host named Name is played from
// Script, a JSON object with one of `response`, `error`, `responses` and, for a host, `messages`.
// By means that MockNext provides the answers. An *Error of kind RuntimeError reports an invalid
// script.
type MockScript struct {
	Name   string          `json:"name"`
	Host   bool            `json:"host,omitempty"`
	Script json.RawMessage `json:"script"`
	By     bool            `json:"by,omitempty"`
}

// MockNext makes Answer the reply to the agent's next request, or a host's
// answer to Prompt.
type MockNext struct {
	Party  string          `json:"party"`
	Host   bool            `json:"host,omitempty"`
	Prompt string          `json:"prompt,omitempty"`
	Answer json.RawMessage `json:"answer"`
}

// MockAnswer answers one awaited emit on Channel, after those given before.
type MockAnswer struct {
	Channel string          `json:"channel"`
	Value   json.RawMessage `json:"value"`
}

// MockEnv sets an environment variable of the test, or unsets it.
type MockEnv struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Set   bool   `json:"set"`
}

// MockArgs sets the arguments that the test sees.
type MockArgs struct {
	Args []string `json:"args"`
}

// MockInput sets the text that the test reads as its standard input.
type MockInput struct {
	Text string `json:"text"`
}

// MockTime sets the test's clock, in milliseconds since the epoch.
type MockTime struct {
	Unix int64 `json:"unix_ms"`
}

// Record reads what a test has done so far, as *Recorded. The field What is "emits" (of {channel,
// payload}), "output" (a string), "requests" (of HTTP), "prompts" of the agent or host Party, or
// "replies" of the host Party.
type Record struct {
	What  string `json:"what"`
	Party string `json:"party,omitempty"`
}

// Recorded is what a Record found, as JSON.
type Recorded struct {
	Value json.RawMessage `json:"value"`
}

// Kind is KindMockScript.
func (*MockScript) Kind() Kind { return KindMockScript }

// Kind is KindMockNext.
func (*MockNext) Kind() Kind { return KindMockNext }

// Kind is KindMockAnswer.
func (*MockAnswer) Kind() Kind { return KindMockAnswer }

// Kind is KindMockEnv.
func (*MockEnv) Kind() Kind { return KindMockEnv }

// Kind is KindMockArgs.
func (*MockArgs) Kind() Kind { return KindMockArgs }

// Kind is KindMockInput.
func (*MockInput) Kind() Kind { return KindMockInput }

// Kind is KindMockTime.
func (*MockTime) Kind() Kind { return KindMockTime }

// Kind is KindRecord.
func (*Record) Kind() Kind { return KindRecord }

// The kinds by which a test scripts HTTP and files.
const (
	KindMockHTTP Kind = "mock.http"
	KindMockFile Kind = "mock.file"
	// KindMockCommand scripts commands.
	KindMockCommand Kind = "mock.command"
)

// MockHTTP answers one request to URL, which may have a method before it, after
// the answers given before. Answer is a JSON string for the body, or an object.
type MockHTTP struct {
	URL    string          `json:"url"`
	Answer json.RawMessage `json:"answer"`
}

// MockCommand sets the outcome of one run of a command, after earlier outcomes: a JSON string for
// its output, or an object. Line is the command and its arguments, separated by spaces.
type MockCommand struct {
	Line    string          `json:"line"`
	Outcome json.RawMessage `json:"outcome"`
}

// MockFile makes Path a file for this test only. It contains Text, or with Missing does not exist.
type MockFile struct {
	Path    string `json:"path"`
	Text    string `json:"text"`
	Missing bool   `json:"missing,omitempty"`
}

// Kind is KindMockHTTP.
func (*MockHTTP) Kind() Kind { return KindMockHTTP }

// Kind is KindMockCommand.
func (*MockCommand) Kind() Kind { return KindMockCommand }

// Kind is KindMockFile.
func (*MockFile) Kind() Kind { return KindMockFile }
