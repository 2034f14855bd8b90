//go:build !js

package service

var requestRows = []requestRow{
	{"fs/read_text_file", (*Service).readFile},
	{"fs/write_text_file", (*Service).writeFile},
	{"terminal/create", (*Service).openTerminal},
	{"terminal/output", (*Service).terminalOutput},
	{"terminal/wait_for_exit", (*Service).awaitTerminal},
	{"terminal/kill", (*Service).killTerminal},
	{"terminal/release", (*Service).releaseTerminal},
}
