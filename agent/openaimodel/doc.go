// Package openaimodel is an [agent.Model] over OpenAI's Responses API, or any server that speaks it.
//
// Nothing depends on state the server keeps: responses are not stored, reasoning comes back encrypted, and every turn
// sends the whole conversation. An item that came from the provider is sent back as the bytes it came in, in its
// place, known to this package or not; a run may therefore pause for a month and go on elsewhere.
//
// A call is tried several times within a budget when the fault may pass: no connection, no answer in time, 408, 409,
// 429, a server error, an answer cut short. The client's own retries are off. What remains is an [*Error], whose text
// is fit for a person and contains neither keys nor anything of the conversation. An answer the provider ends early,
// at its token limit or in its content filter, is an error too: half an answer is never taken for a whole one.
package openaimodel
