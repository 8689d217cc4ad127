package openaidev

import (
	"maps"
	"net"
	"net/http"
)

// sink writes a body and cuts it or holds it back where the fault says so.
type sink struct {
	h       *Handler
	w       http.ResponseWriter
	r       *http.Request
	fault   Fault
	written int
}

func (h *Handler) newSink(w http.ResponseWriter, r *http.Request, fault Fault, header http.Header, status int) *sink {
	maps.Copy(w.Header(), header)
	maps.Copy(w.Header(), fault.Header)
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	s := &sink{h: h, w: w, r: r, fault: fault}
	if fault.CutAfter < 0 {
		s.cut()
	}
	return s
}

// write sends data. It returns false when nothing more can be sent.
func (s *sink) write(data []byte) bool {
	if s.fault.HangAfter > 0 && s.written+len(data) > s.fault.HangAfter {
		keep := max(0, s.fault.HangAfter-s.written)
		s.raw(data[:keep])
		s.flush()
		s.fault.HangAfter = 0
		s.h.hang(s.r)
		data = data[keep:]
	}
	if s.fault.CutAfter > 0 && s.written+len(data) >= s.fault.CutAfter {
		s.raw(data[:s.fault.CutAfter-s.written])
		s.cut()
	}
	return s.raw(data)
}

func (s *sink) raw(data []byte) bool {
	n, err := s.w.Write(data)
	s.written += n
	return err == nil && s.r.Context().Err() == nil
}

func (s *sink) flush() { _ = http.NewResponseController(s.w).Flush() }

// cut delivers what was written and ends the connection without ending the body. It does not return.
func (s *sink) cut() {
	s.flush()
	panic(http.ErrAbortHandler)
}

// abort resets the connection before anything was sent. It does not return.
func abort(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	panic(http.ErrAbortHandler)
}
