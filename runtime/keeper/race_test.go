//go:build race && linux

package keeper_test

func init() { raced = true }
