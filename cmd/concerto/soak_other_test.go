//go:build !linux

package main

func soak() {}
