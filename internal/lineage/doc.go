// Package lineage tells processes that descend from the bot, because a tool or an MCP server has started them, from
// those that an operator has started beside it. Both run as the same user, so the system's permissions do not.
//
// On Linux the bot lowers its own hard limit of file locks (RLIMIT_LOCKS, which nothing has looked at since Linux
// 2.4.25) before it starts anything: see [Set]. The limit is inherited through fork, setsid and exec, and only
// CAP_SYS_RESOURCE raises it again. It marks also what outlives the bot, and what no longer has an ancestor among the
// living. Where the limit cannot be lowered, the living descendants of the bot are still known by their ancestry.
//
// What this proves: a process whose limit is lower than the one that the bot had found at its start, or that has the
// bot among its ancestors, is no operator's. What it does not: root with CAP_SYS_RESOURCE raises limits; and a marked
// process can have an unmarked one of the same user act for it, through ptrace, cron, at, the user's service manager,
// or a shell's start-up files. Other systems than Linux say nothing of this.
package lineage
