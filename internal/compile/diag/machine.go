package diag

// TooManyRegisters reports a function that needs more values at a time than the machine has
// registers.
var TooManyRegisters = &Info{
	Code: "E0901", Title: "expression too large", Noise: NotNoise,
	NoFix: "which part should become a variable is unknown",
	Explain: "A function can use about two hundred values at a time. Additional variables are stored elsewhere, but the parts of one expression are not. " +
		"Only generated programs reach this limit.",
}

// Unoptimised reports a program that does not verify after the optimisation passes.
var Unoptimised = &Info{
	Code: "W1001", Title: "optimisation failed", Noise: NotNoise,
	NoFix: "this is a bug in the compiler",
	Explain: "The compiler verified its optimised code and found an error in it, so it uses the code without optimisations. The program works, but runs more slowly. " +
		"This is a bug in the compiler. Please report it together with the program.",
}
