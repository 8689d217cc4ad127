// Package catalog makes of an agents file what runs: agents with their models, tools and gates, the MCP servers they
// use, and the policy of who approves.
//
//	catalog     what was made
//	build gate  making it, and when a tool asks
//	tool_*      one type of tool each
//	servers     MCP servers that are open, also across reloads
//	row         what a tool is, in words, for "countersign check"
package catalog
