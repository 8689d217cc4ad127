// Package httptool makes tools of declared HTTP calls: the tools of type http in an agents file.
//
// What a call sends is what people were shown. POST, PUT and PATCH send the canonical arguments as the body, byte for
// byte; GET, HEAD and DELETE send them as query parameters. The effect id goes along as Idempotency-Key. Nothing in the
// arguments can choose the host, the path or a header.
//
// What the model reads is the body of the answer, or the status with it when the status is an error. A call that could
// not be made is an output too, which says that nothing was sent; and so is a GET or HEAD without an answer, which does
// nothing. Any other call that was sent and not answered has no output but [agent.ErrOutcomeUnknown]: people have to
// find out, for if the model made the call again it would have another Idempotency-Key. One that is idempotent is sent
// again before, once, under its own; that the second sending is refused is no answer to the first. When the caller's
// context ends before the answer the error is the context's.
//
// The host written by the operator may be anywhere, loopback included. A redirect may lead elsewhere only if that
// address, as resolved for this very connection, is public or allowed; the headers of the tool do not go there. Proxy
// settings of the environment are ignored, for behind a proxy no address can be checked.
package httptool
