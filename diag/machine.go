package diag

// TooManyRegisters: a function computes with more values at once than the
// machine has registers.
var TooManyRegisters = &Info{
	Code: "E0901", Title: "too many values at once",
	Explain: "A function can hold some two hundred values while it computes; variables beyond that are kept elsewhere, but the parts of one expression are not. " +
		"Only machine-written programs come near.",
}
