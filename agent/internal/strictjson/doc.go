// Package strictjson reads JSON that others wrote and that people and programs will act on, and changes it without
// changing what it means.
//
//	reader, token, quote     one pass over a text: grammar, depth
//	canonical, keys, number  what has one meaning only, in the one form of RFC 8785 (JCS): equal values, equal bytes
//	unique                   what has no member twice, and may otherwise be anything
//	object, rewrite          objects written and changed member by member; what is not changed stays as it was written
//
// Errors say where a text was refused and repeat no values of it.
package strictjson
