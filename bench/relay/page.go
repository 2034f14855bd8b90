package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// page runs the measurements in the page's browser tests.
func page(*lab) (string, error) {
	c := exec.Command("go", "test", "./tools/relay/web", "-run", "^TestFigures$", "-count=1", "-v")
	c.Env = append(os.Environ(), "CONCERTO_FIGURES=1")
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("measure the page: %w\n%s", err, out)
	}
	var figures []string
	for line := range strings.Lines(string(out)) {
		if _, figure, ok := strings.Cut(line, ": figure "); ok {
			figures = append(figures, strings.TrimSpace(figure))
		}
	}
	if len(figures) == 0 {
		return "", fmt.Errorf("measure the page: nothing was measured\n%s", out)
	}
	return strings.Join(figures, "; "), nil
}
