package parser

// AsProgram is asProgram for tests outside of the package.
var AsProgram = asProgram
