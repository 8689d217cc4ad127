// Package cli is the command line, one file for each command.
//
// [Main] is what main.go calls. Everything a command needs comes in a [Program]; nothing here reads global state
// besides the environment, and the standard input of the MCP server that the demo brings.
package cli
