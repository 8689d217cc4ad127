// Package shelltool makes a tool that runs commands on this machine, for people to approve first.
//
// A call is either a program and its arguments, {"argv": […]}, which no shell ever reads, or a script for the
// configured shell, {"script": "…"}. With Config.Native it is the provider's own shell tool instead, whose calls are
// lists of scripts.
//
// What runs gets a clean environment (PATH, HOME, LANG and what Config.Env names), an empty standard input, the working
// directory, and a process group of its own. The group is killed when the time is up, when the caller's context ends,
// and when the command itself has ended, so that nothing it put in the background lives on. A process that leaves the
// group, as setsid does, is out of reach; the output says so when it still holds the command's output open. This is no
// sandbox: a command can do whatever the user that this program runs as can do. Run it in a container when that is too
// much.
//
// A decision is bound to the content of the program that a call runs. It is compared with what people saw right before
// it starts, on the opened file, and on Linux a native program (ELF) is started from that opened file, under a name in
// /proc: what was compared is what runs, and tools that list names of processes show a number. A program of another
// format, such as one that begins with #!, is opened again by its interpreter, and so by its path; on other systems
// every program is. While a call runs, no other call of the run touches files; see [agent.Tool.Touches]. What is left
// open are the moments between comparison and opening, for somebody who is no call of that run.
//
// A command that ran and failed, or was stopped for the time, is an output and not an error: the model reads what
// happened. Only when the context ends while a command runs does nobody know how far it got; the error then wraps
// [agent.ErrOutcomeUnknown].
//
// [Inspect] takes a call apart for display. It never says that something is safe.
package shelltool
