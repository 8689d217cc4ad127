// Package celpolicy turns expressions in the Common Expression Language into gates of tools and conditions of policies,
// and holds policies in order, the default one last.
//
// An expression is compiled and type-checked once, with the places of its mistakes in an [*Error]. Where the tool's
// schema says what the arguments are, a misspelled argument is a mistake as well. Evaluation is bounded in cost. A gate
// that cannot be evaluated, for whatever reason, asks: the error it returns counts as yes. A policy whose condition
// cannot be evaluated applies.
package celpolicy
