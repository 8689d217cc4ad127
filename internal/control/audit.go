package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"countersign/approvals"
)

// paramHead is the parameter of GET /v1/audit/report with the hash that an entry must have.
const paramHead = "head"

// maxVerify bounds the checkpoints that a verification takes, in bytes: those of some years.
const maxVerify = 256 << 20

func (s *Server) verify(w http.ResponseWriter, r *http.Request) {
	var opts approvals.VerifyOptions
	if head := r.URL.Query().Get(paramHead); head != "" {
		if err := opts.Head.UnmarshalText([]byte(head)); err != nil {
			s.answer(w, result{Error: newFailure(fmt.Errorf("%w: head: %w", approvals.ErrInvalid, err))})
			return
		}
	}
	s.verified(w, r, opts)
}

// verifyAgainst takes the options as the body.
func (s *Server) verifyAgainst(w http.ResponseWriter, r *http.Request) {
	var opts approvals.VerifyOptions
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxVerify)).Decode(&opts); err != nil {
		s.answer(w, result{Error: newFailure(fmt.Errorf("%w: checkpoints cannot be read", approvals.ErrInvalid))})
		return
	}
	s.verified(w, r, opts)
}

func (s *Server) verified(w http.ResponseWriter, r *http.Request, opts approvals.VerifyOptions) {
	opts.Progress = telling(w, r)
	report, err := s.Desk.VerifyAudit(r.Context(), opts)
	s.answer(w, result{Report: &report, Error: newFailure(err)})
}

// VerifyAudit is part of Desk.
func (c *Client) VerifyAudit(ctx context.Context, opts approvals.VerifyOptions) (approvals.AuditReport, error) {
	method, path, body := http.MethodGet, "/v1/audit/report", []byte(nil)
	params := url.Values{}
	kept := opts.Head != approvals.VerifyOptions{}.Head
	switch {
	case len(opts.Checkpoints) > 0:
		var err error
		method = http.MethodPost
		if body, err = json.Marshal(opts); err != nil {
			return approvals.AuditReport{}, fmt.Errorf("send checkpoints: %w", err)
		}
	case kept:
		params.Set(paramHead, opts.Head.String())
	}
	if opts.Progress != nil {
		params.Set(paramProgress, "1")
	}
	if len(params) > 0 {
		path += "?" + params.Encode()
	}
	answer, err := c.verified(ctx, method, path, body, opts.Progress)
	if err != nil {
		return approvals.AuditReport{}, err
	}
	err = answer.Error.err()
	if err == nil && (kept && !answer.Report.HeadFound || answer.Report.Checkpoints != len(opts.Checkpoints)) {
		// a bot that has not looked for it
		err = fmt.Errorf("ask the bot: it does not say whether the trail has what was kept; %w", errOtherVersion)
	}
	return *answer.Report, err
}

// verified reads the answer to a verification, and hands on how far it is until it comes.
func (c *Client) verified(ctx context.Context, method, path string, body []byte, progress func(int)) (result, error) {
	r, err := c.open(ctx, method, path, body)
	if err != nil {
		return result{}, err
	}
	defer r.Close()
	for d := json.NewDecoder(r); ; {
		answer := struct {
			progressLine
			result
		}{result: result{Report: &approvals.AuditReport{}}}
		if err := d.Decode(&answer); err != nil {
			return result{}, &lostError{fmt.Errorf("read the bot's answer: %w", err)}
		}
		if answer.Read == 0 {
			return answer.result, nil
		}
		progress(answer.Read)
	}
}
