// Package app is the program: its configuration, the wiring of all parts, the commands, and the demo. It is the only
// package that knows all others.
//
// Main is what main.go calls. Everything a command needs comes in a [Program]; nothing here reads global state besides
// the environment, and the standard input of the MCP server that the demo brings.
package app
