package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/toolname"
	"github.com/concerto-lang/concerto/internal/text/jsonschema"
)

// DefinitionError is an error in a definition. Pointer is a JSON pointer into the definition's form
// in files, like "/parameters/properties/a/type".
type DefinitionError struct{ Name, Pointer, Why string }

func (e *DefinitionError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("tool '%s': %s", e.Name, e.Why)
	}
	return fmt.Sprintf("tool '%s': %s: %s", e.Name, e.Pointer, e.Why)
}

// ErrDuplicate matches every *DuplicateError.
var ErrDuplicate = errors.New("the tool is registered already")

// Owned is a version of a tool, like "x@1", with its owner.
type Owned struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
}

// DuplicateError lists tools that are already registered, with their owners.
type DuplicateError struct{ Tools []Owned }

func (e *DuplicateError) Error() string {
	var all []string
	for _, t := range e.Tools {
		all = append(all, fmt.Sprintf("tool '%s' is registered already, by %s", t.Name, t.Owner))
	}
	return strings.Join(all, "; ")
}

// Is reports whether target is ErrDuplicate.
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// entry is a registered version of a tool.
type entry struct {
	// definition with default values filled in, except where a zero value may be intended
	def            Definition
	owner, session string // session is the ID of the only session that has the tool; "" if it is not restricted
	recorded       string // name in audit records; "" means the name in the definition
	order          uint64 // number of the registration, in ascending order
	params, output *jsonschema.Schema
	slots          chan struct{} // semaphore of calls with the capacity MaxConcurrent; nil without a limit
	stats          stats
}

// id returns "x@1".
func (e *entry) id() string { return fmt.Sprintf("%s@%d", e.def.Name, e.def.Version) }

// anyObject is the default schema of arguments.
const anyObject = `{"type":"object"}`

var anyObjectSchema = sync.OnceValue(func() *jsonschema.Schema {
	s, _ := jsonschema.Compile([]byte(anyObject))
	return s
})

// define validates a definition and returns an entry for it. Otherwise it returns all errors in the
// definition.
func define(d Definition) (*entry, error) {
	r := rules{d: &d}
	if toolname.Check(d.Name) != nil {
		r.addProblem("/name", "must be a letter or _, then letters, digits, _ and -, %d at most", toolname.MaxLength)
	}
	if d.wrong != nil {
		var of *DefinitionError
		if errors.As(d.wrong, &of) {
			r.addProblem(of.Pointer, "%s", of.Why)
		}
	}
	if d.Version == 0 {
		d.Version = 1
	}
	if d.Version < 1 || d.Version > math.MaxInt32 {
		r.addProblem("/version", "must be an integer of 1 or more, not %d", d.Version)
	}
	r.checkHandler()
	r.times()
	if d.MaxConcurrent < 0 {
		r.addProblem("/max_concurrent", "must be 1 or more, not %d", d.MaxConcurrent)
	}
	for i, need := range d.Requires {
		if what, ok := strings.CutPrefix(need, "render:"); !ok || what == "" {
			r.addProblem(fmt.Sprintf("/requires/%d", i), "%q is unknown: use \"render:TYPE\", such as \"render:image/png\"", need)
		}
	}
	e := &entry{}
	if len(d.Parameters) == 0 || string(d.Parameters) == anyObject {
		d.Parameters, e.params = json.RawMessage(anyObject), anyObjectSchema()
	} else {
		e.params = r.schema("/parameters", d.Parameters)
	}
	if len(d.Output) > 0 {
		e.output = r.schema("/output", d.Output)
	}
	r.isObject(d.Parameters)
	if d.MaxConcurrent > 0 {
		e.slots = make(chan struct{}, d.MaxConcurrent)
	}
	e.def = d
	return e, errors.Join(r.errs...)
}

// rules collects the errors in a definition.
type rules struct {
	d    *Definition
	errs []error
}

func (r *rules) addProblem(at, format string, args ...any) {
	r.errs = append(r.errs, &DefinitionError{r.d.Name, at, fmt.Sprintf(format, args...)})
}

func (r *rules) checkHandler() {
	d := r.d
	switch d.Scope {
	case "":
		d.Scope = Global
	case Global, PerSession:
	default:
		r.addProblem("/scope", "must be \"global\" or \"session\", not %q", d.Scope)
	}
	switch {
	case d.Handler == nil && d.Open == nil && d.wrong == nil:
		r.addProblem("/handler", "Handler or Open is required")
	case d.Handler != nil && d.Open != nil:
		r.addProblem("/handler", "only one of Handler and Open is allowed")
	case d.Open != nil && d.Scope == Global:
		r.addProblem("/scope", "must be \"session\" if Open is set")
	}
}

// Limits of durations.
const (
	leastTime = time.Millisecond
	mostTime  = 86400 * time.Second
)

func (r *rules) times() {
	d := r.d
	if d.Timeout == 0 {
		d.Timeout = DefaultTimeout
	}
	for _, x := range []struct {
		at string
		t  time.Duration
	}{{"/timeout", d.Timeout}, {"/idle_timeout", d.IdleTimeout}, {"/approval_timeout", d.ApprovalTimeout}} {
		if x.t != 0 && (x.t < leastTime || x.t > mostTime) {
			r.addProblem(x.at, "must be 0.001 to 86400 seconds, not %s", formatSeconds(x.t))
		}
	}
	switch d.OnTimeout {
	case "":
		d.OnTimeout = OnTimeoutDeny
	case OnTimeoutDeny, OnTimeoutAllow, OnTimeoutHalt:
	default:
		r.addProblem("/on_timeout", "must be \"deny\", \"allow\" or \"halt\", not %q", d.OnTimeout)
	}
}

func (r *rules) schema(at string, text json.RawMessage) *jsonschema.Schema {
	s, errs := jsonschema.Compile(text)
	for _, m := range errs {
		r.addProblem(at+m.Pointer, "%s", m.Why)
	}
	return s
}

// isObject adds an error unless the schema describes an object, because models and hosts can send
// only objects as arguments.
func (r *rules) isObject(parameters json.RawMessage) {
	var top struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(parameters, &top) == nil && top.Type != "object" && len(r.errs) == 0 {
		r.addProblem("/parameters/type", "must be \"object\"")
	}
}
