// Package control is how the command line works on a store.
//
// A [Desk] is what an operator can do. [Local] does it on an open store. While the bot runs it holds the store's file,
// so it offers its own desk on a Unix socket beside the file: [Listen] and [Server] on the bot's side, [Dial] on the
// command's. Who may use the socket is decided by the operating system: its file is readable by its owner alone, and
// a connection from anybody but the owner and root is closed unread. Of their processes, those that a tool has started
// are refused: see package lineage.
package control
