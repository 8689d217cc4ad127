// Package patchtool makes a tool that changes the text files of one directory by patches, for people to approve first.
//
// A patch is text in the format that OpenAI's models are trained to write:
//
//	*** Begin Patch
//	*** Update File: greeting.go
//	*** Move to: hello.go
//	@@ func main() {
//	 	name := "world"
//	-	fmt.Println("Hi", name)
//	+	fmt.Println("Hello", name)
//	*** Add File: docs/usage.txt
//	+Run it.
//	*** Delete File: old.txt
//	*** End Patch
//
// A hunk begins with @@ and, optionally, the text of a line that is above it in the file; several such lines narrow the
// place down one after the other. Then come lines of context (after a space), removed lines (-) and added lines (+).
// "*** End of File" after a hunk says that it is at the end. There are no line numbers: hunks are found by their
// context, in order: exactly, or else but for white space at the ends of lines, or else at both ends.
//
// The result is that of applyDiff in OpenAI's agents SDK, byte for byte, wherever only one can be meant; a test
// compares them. Where that one takes the first of several places, the beginning of the file for lines that come
// without a place, or nothing for a change, this tool refuses: nothing is changed, and the model is told which hunk of
// which file, which line was not found or where all the places are. Lines of context keep every byte they have in the
// file. Added lines end with CR LF where all lines of the file do. Whether the last line has a line end stays as it
// was.
//
// With Config.Native the tool is the provider's own, whose calls are one operation each; see [agent.WireApplyPatch].
// There the last line of a new file has no line end, as in the SDK; in a patch every line of a new file has one.
//
// A decision is bound to the files as they are when people are asked: [agent.Tool.Preconditions] gives their digests
// and modes, and finds out whether the patch applies at all, and whether the system would allow it, before anybody is
// asked.
//
// All files change or none. Everything is worked out in memory, written to new files beside the old ones, and only then
// renamed into place; when that fails, what was renamed is put back. If even that fails the error wraps
// [agent.ErrOutcomeUnknown] and says which file is in which state. After a crash in the middle, files whose names begin
// with ".countersign-" are left beside the files that were being changed: ".new" ones hold contents that were to be
// written, ".old" ones what was there before. A later patch in the same directory removes them, but no ".old" one that
// is the only copy of what it holds: that one is told.
//
// Nothing outside the directory is read or written, whatever links lead there, and no link inside it is followed, also
// when somebody exchanges directories while a patch is under way. Names with "..", absolute names, links, what is not a
// regular file, what has the setuid or setgid bit, and everything in a directory named .git are refused.
package patchtool
