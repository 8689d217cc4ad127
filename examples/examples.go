// Package examples holds the agents files that people start from, so that the program's demo can recognize them.
package examples

import _ "embed"

// The files of this folder.
var (
	//go:embed countersign.yaml
	Countersign []byte
	//go:embed operations.yaml
	Operations []byte
	//go:embed research.yaml
	Research []byte
	//go:embed finance/finance.yaml
	Finance []byte
)
