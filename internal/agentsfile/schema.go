package agentsfile

import _ "embed"

// Schema is the JSON Schema of the agents file, for editors. It accepts what Parse accepts as far as a schema can say
// it: that names exist, that expressions compile and that variables are set is beyond it.
//
//go:embed schema.json
var Schema []byte
