package diag

// Pipelines.
var (
	StageInput = &Info{
		Code: "E0741", Title: `mismatched stage types`, Noise: InFlawedPipeline,
		NoFix:   "which of the types is intended is unknown",
		Explain: "The input of a stage must have the type of the previous stage's output. The output of the last stage must have the result type of the pipeline.",
		Bad:     `pipeline P { stage a(s: String) -> Int { s.len() } stage b(t: String) -> String { t } }`,
		Good:    `pipeline P { stage a(s: String) -> Int { s.len() } stage b(n: Int) -> String { "${n}" } }`,
	}
	EmptyPipeline = &Info{
		Code: "E0742", Title: `pipeline without stages`, Noise: InFlawedPipeline,
		NoFix:   "the intended stages are unknown",
		Explain: "A pipeline needs at least one stage.",
		Bad:     `pipeline P { }`,
		Good:    `pipeline P { stage a(s: String) -> Int { s.len() } }`,
	}
)
