package slackdev

import "net/http"

func (w *Workspace) pageRoutes(mux *http.ServeMux) {}
