package diag

// Pipelines.
var (
	StageInput = &Info{
		Code: "E0741", Title: `stages do not fit`,
		NoFix:   "only its author knows which of the two types is meant",
		Explain: "A stage takes what the one before it gives; the pipeline gives what it promises.",
		Bad:     `pipeline P { stage a(s: String) -> Int { s.len() } stage b(t: String) -> String { t } }`,
		Good:    `pipeline P { stage a(s: String) -> Int { s.len() } stage b(n: Int) -> String { "${n}" } }`,
	}
	EmptyPipeline = &Info{
		Code: "E0742", Title: `pipeline without stages`,
		NoFix:   "only its author knows what it is to do",
		Explain: "A pipeline is made of stages.",
		Bad:     `pipeline P { }`,
		Good:    `pipeline P { stage a(s: String) -> Int { s.len() } }`,
	}
)
