// Package openaimodel is an [agent.Model] over OpenAI's Responses API or Chat Completions API, or any server that
// speaks one of them.
//
// Unless a request says otherwise, nothing depends on state the server keeps: responses are not stored, reasoning comes
// back encrypted, and every turn sends the whole conversation. An item that came from the Responses API is sent back as
// the bytes it came in, in its place, known to this package or not; a run may therefore pause for a month and go on
// elsewhere. OpenAI takes back no call with an id above 64 characters or a name that no tool can have, not even of its
// own models: these are replaced in what is sent, but where the server keeps the conversation. A request with a
// conversation or a previous response sends what the server does not have yet; when the server has forgotten it, the
// error wraps [ErrGone].
//
// A call is tried several times within a budget when the fault may pass: no connection, no answer in time, 408, 409,
// 429, a server error, an answer cut short. The client's own retries are off. A call is not tried again once a piece of
// its answer was passed on, nor when the server may have taken it into a conversation it keeps, or may have carried out
// what it says is approved: a call of an MCP server that the provider talks to. What remains is an
// [*Error], whose text is fit for a person and contains neither keys nor anything of the conversation. An answer the
// provider ends early, at its token limit or in its content filter, is an error too: half an answer is never taken for
// a whole one.
//
// A schema is sent as its author wrote it, but for what would have OpenAI refuse the whole request: properties and the
// items of lists are put in where they are left out, and choices at the top are left out once they were refused.
//
// # Chat Completions
//
// [ChatCompletions] is for servers that have no Responses API. Conversations are kept in the form of the Responses API
// all the same, so a saved run goes on when its agent changes from one API to the other, as far as the other API can
// express it:
//
//   - Messages, function calls and their outputs are translated. The calls of one turn are one assistant message, and
//     their outputs follow it in the order of the calls, wherever they stand among the items. Developer messages become
//     system messages, which every server knows.
//   - Reasoning without encrypted content is left out: the API has no place for it, and it gives the provider nothing
//     that it could use. Reasoning with encrypted content is refused, because the model would lose it unnoticed.
//   - Any other item, a picture or file of a kind the API lacks, a tool that is not a function, and state kept by the
//     server are refused with an error wrapping [agent.ErrConfig] before anything is sent.
//   - OpenAI takes no ids of calls above 40 characters here, which are replaced as above, and no descriptions of tools
//     above 1024 characters, which are cut once one was refused.
//   - An answer counts only with its finish reason, and a stream only with its end mark. The thoughts that some servers
//     send beside the answer are no summaries: they are neither passed on nor kept.
//   - max_completion_tokens and stream_options are left to servers that know them: after a refusal that names one, the
//     older max_tokens is sent instead, or no usage asked for. A server that ignores them silently has no token limit.
//
// # What was not verified against OpenAI's service
//
// The exchanges in testdata are written after OpenAI's documentation and its client library, not recorded. In
// particular these rest on the documentation alone: the form of shell, apply_patch and custom tools and the choice of
// one by name; that an assistant message without an id is accepted as an item of the Responses API; how a forgotten
// conversation is reported (any 400 or 404 that names the id and says "not found" is taken for it); and that a
// conversation does not take in a response that failed.
package openaimodel
