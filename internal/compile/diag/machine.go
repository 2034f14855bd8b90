package diag

// TooManyRegisters reports a function that needs more values at a time than the machine has
// registers.
var TooManyRegisters = &Info{
	Code: "E0901", Title: "too many values at once",
	NoFix: "which part is to have a name of its own, only its author knows",
	Explain: "A function can hold some two hundred values while it computes; variables beyond that are kept elsewhere, but the parts of one expression are not. " +
		"Only machine-written programs come near.",
}

// Unoptimised reports a program that does not verify after the optimisation passes.
var Unoptimised = &Info{
	Code: "W1001", Title: "the program runs unoptimised",
	NoFix: "the mistake is the compiler's",
	Explain: "The compiler has checked what its optimisations made of the program and found it broken. It takes the program as it was before them: it does the same, only slower. " +
		"That is a mistake in the compiler; whoever reports it with the program gets it mended.",
}
