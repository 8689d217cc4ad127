// Package agentsfile reads the agents file: which agents exist, what they may call, and who must agree.
//
// The file is YAML, read strictly. An unknown key, a wrong type, a key that is there twice, or a value that cannot be
// meant is a [Problem] with file, line and column, and all problems of a file are reported together. What the file
// says about later versions of the format is refused as such and not taken for a typing error.
//
// ${NAME} stands for an environment variable. It is replaced after parsing, in the scalar values of the keys that allow
// it, so that no value of the environment can change the structure of the file. [Text] keeps both forms: the written
// one is what digests, errors and tables show.
package agentsfile
