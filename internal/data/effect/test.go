package effect

import "encoding/json"

// The kinds of requests of tests: scripts for mocks, and queries of what the test has done. Only
// `concerto test` performs them.
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

// MockScript is a `mock` statement. It makes Script determine the behaviour of the agent or host
// Name. Script is a JSON object with one of the members `response`, `error`, `responses` and, for a
// host, `messages`. By means that later MockNext requests provide the answers. An invalid script is
// an *Error of kind RuntimeError.
type MockScript struct {
	Name   string          `json:"name"`
	Host   bool            `json:"host,omitempty"`
	Script json.RawMessage `json:"script"`
	By     bool            `json:"by,omitempty"`
}

// MockNext sets the reply to the agent's next request, or the host's answer to Prompt.
type MockNext struct {
	Party  string          `json:"party"`
	Host   bool            `json:"host,omitempty"`
	Prompt string          `json:"prompt,omitempty"`
	Answer json.RawMessage `json:"answer"`
}

// MockAnswer adds an answer for one awaited emit on Channel.
type MockAnswer struct {
	Channel string          `json:"channel"`
	Value   json.RawMessage `json:"value"`
}

// MockEnv sets an environment variable of the test, or removes it.
type MockEnv struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Set   bool   `json:"set"`
}

// MockArgs sets the arguments of the program in the test.
type MockArgs struct {
	Args []string `json:"args"`
}

// MockInput sets the text of the standard input in the test.
type MockInput struct {
	Text string `json:"text"`
}

// MockTime sets the clock of the test, in milliseconds since the epoch.
type MockTime struct {
	Unix int64 `json:"unix_ms"`
}

// Record returns what a test has done so far, as *Recorded. The field What selects the list:
// "emits" (objects with channel and payload), "output" (a string), "requests" (over HTTP),
// "prompts" (of the agent or host Party) or "replies" (to the host Party).
type Record struct {
	What  string `json:"what"`
	Party string `json:"party,omitempty"`
}

// Recorded is the result of a Record as JSON.
type Recorded struct {
	Value json.RawMessage `json:"value"`
}

// Kind returns KindMockScript.
func (*MockScript) Kind() Kind { return KindMockScript }

// Kind returns KindMockNext.
func (*MockNext) Kind() Kind { return KindMockNext }

// Kind returns KindMockAnswer.
func (*MockAnswer) Kind() Kind { return KindMockAnswer }

// Kind returns KindMockEnv.
func (*MockEnv) Kind() Kind { return KindMockEnv }

// Kind returns KindMockArgs.
func (*MockArgs) Kind() Kind { return KindMockArgs }

// Kind returns KindMockInput.
func (*MockInput) Kind() Kind { return KindMockInput }

// Kind returns KindMockTime.
func (*MockTime) Kind() Kind { return KindMockTime }

// Kind returns KindRecord.
func (*Record) Kind() Kind { return KindRecord }

// The kinds of requests of tests that mock HTTP, files and commands.
const (
	KindMockHTTP Kind = "mock.http"
	KindMockFile Kind = "mock.file"
	// KindMockCommand is the kind of MockCommand.
	KindMockCommand Kind = "mock.command"
)

// MockHTTP adds an answer for one request to URL, which may begin with a method. Answer is a JSON
// string with the body, or an object.
type MockHTTP struct {
	URL    string          `json:"url"`
	Answer json.RawMessage `json:"answer"`
}

// MockCommand adds a result for one run of a command. Answer is a JSON string with the output, or
// an object. Line is the command with its arguments, separated by spaces.
type MockCommand struct {
	Line    string          `json:"line"`
	Outcome json.RawMessage `json:"outcome"`
}

// MockFile sets the content of the file Path, for this test only. If Missing is set, the file does
// not exist.
type MockFile struct {
	Path    string `json:"path"`
	Text    string `json:"text"`
	Missing bool   `json:"missing,omitempty"`
}

// Kind returns KindMockHTTP.
func (*MockHTTP) Kind() Kind { return KindMockHTTP }

// Kind returns KindMockCommand.
func (*MockCommand) Kind() Kind { return KindMockCommand }

// Kind returns KindMockFile.
func (*MockFile) Kind() Kind { return KindMockFile }
