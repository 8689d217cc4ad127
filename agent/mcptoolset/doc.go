// Package mcptoolset makes tools of what MCP servers offer: programs that are started here and spoken to over their
// standard input and output, and servers behind a URL (streamable HTTP, or the older SSE).
//
// A [Server] is the connection: it is made when the tools are first wanted, kept, and made again after it broke. A
// [Toolset] is what one agent may use of a server, under which names, and what it has to ask for. Several toolsets
// share a server.
//
// What a server says about itself is data, and may change at any time. Name, description, schema and annotations of a
// tool are part of its definition, to which decisions are bound; right before a call is sent they are compared once
// more, and a call of a tool that is no longer the one that was listed is not sent. Tools whose description or schema
// is too large, or whose schema cannot be compiled, are left out and logged: without a schema nobody could check what
// people are asked about. Annotations open a gate only for servers that the operator marked as trusted, or where the
// operator says so tool by tool.
//
// A call is sent once. Whatever comes back that is no answer to it, a redirect and every status of HTTP included, says
// nothing about whether it was carried out, and the error then wraps [agent.ErrOutcomeUnknown]. Of a server that the
// operator marked as trusted, a call of a tool with an idempotentHint is sent once more before, as it was and over a
// new connection, unless its time is up; that this fails is no answer to the first.
//
// A server may not ask anything of us: requests for sampling, elicitation and roots are refused.
package mcptoolset
