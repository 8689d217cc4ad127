// Package app is the server: it reads the environment and the agents file and wires domain, store, Slack and models
// into the running bot. The command line is in the package cli below it.
//
//	config secret logger errors version            the environment, and what the program says of itself
//	run server service reload agents models slack  the parts, wired, and what a reload replaces
//	http metrics trail waiting                     what operators look at: pages, numbers, lines of the log
package app
