//go:build !darwin

package doctor

func isQuarantined(string) bool { return false }
