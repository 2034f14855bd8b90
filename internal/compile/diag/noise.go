package diag

// Noise is a set of reasons why a diagnostic is probably only a consequence of a syntax error,
// which its correction would remove. It would then hide the cause, and the checker omits it. In
// text that could not be parsed, the checker omits every diagnostic.
type Noise uint32

const (
	// NotNoise excludes the other reasons: text elsewhere in the program does not cause the
	// diagnostic, or another stage than the checker reports it.
	NotNoise Noise = 1 << iota
	// AfterLostName: text that could not be parsed may declare the name.
	AfterLostName
	// AfterLostHeader: the header of the called function has syntax errors.
	AfterLostHeader
	// InFlawedBody: the diagnostic depends on a whole body, which has syntax errors.
	InFlawedBody

	// The diagnostic is about missing parts of a construct that has syntax errors.

	InFlawedMatch
	InFlawedListen
	InFlawedImpl
	InFlawedFunction
	InFlawedFields // a struct or map with values, or a pattern of a struct
	InFlawedCall   // a call or an emit
	InFlawedEmit
	InFlawedType // a type with arguments
	InFlawedAgent
	InFlawedHost
	InFlawedTool
	InFlawedServer // the declaration of an MCP server
	InFlawedPipeline
)

// Has reports whether n contains one of the reasons.
func (n Noise) Has(reasons Noise) bool { return n&reasons != 0 }
