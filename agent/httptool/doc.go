// Package httptool makes tools of declared HTTP calls: the tools of type http in an agents file.
//
// What a call sends is what people were shown. POST, PUT and PATCH send the canonical arguments as the body, byte for
// byte; GET, HEAD and DELETE send them as query parameters. The effect id goes along as Idempotency-Key. Nothing in the
// arguments can choose the host, the path or a header.
//
// What the model reads is the body of the answer, or the status with it when the status is an error. A call that
// could not be made, or whose answer did not come, is an output too, and says which: "nothing was sent", or that the
// request was sent and nobody knows whether it took effect. The latter ends the call rather than the run: the effect is
// recorded with that text, it is not repeated by itself, and if the model asks again it is a new call with its own
// approval. Only when the caller's context ends before the answer is there an error and no output; then the journal
// knows that the effect was intended and has no outcome, and asks people.
//
// The host written by the operator may be anywhere, loopback included. A redirect may lead elsewhere only if that
// address, as resolved for this very connection, is public or allowed; the headers of the tool do not go there. Proxy
// settings of the environment are ignored, for behind a proxy no address can be checked.
package httptool
