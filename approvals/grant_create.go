package approvals

import (
	"fmt"
	"slices"
	"strings"
)

// grant makes the grant that the people who have just settled r agree on, if they do, and settles the waiting requests
// of the run that it covers.
func (c *txn) grant(r *RequestHead, f *facts) error {
	run, err := c.run(r.Run)
	if err != nil {
		return err
	}
	if r.forOthers() {
		c.say(run, wordsNoGrantForOther(r.Tool.Name))
		return nil
	}
	terms, ok := r.narrowest()
	if !ok {
		c.say(run, wordsNoGrantAgreed(r.Tool.Name))
		return nil
	}
	g, err := c.newGrant(r, &terms, f)
	if err != nil {
		return err
	}
	open, err := c.OpenGrants(c.ws, g.Agent, g.Tool, c.Now(), maxGrants)
	if err != nil {
		return err
	}
	if len(open) >= maxGrants {
		return refuse(ErrLimit, wordsTooManyGrants(len(open), g.Tool))
	}
	digest, err := g.digest()
	if err != nil {
		return err
	}
	settler := r.Settler()
	err = c.audit(entry{
		Action: AuditGrantCreated, Actor: string(settler.By), Run: r.Run, Request: r.ID,
		Data: auditData{
			Grant: g.ID, Terms: digest, Decision: settler.ID, Verdict: settler.Verdict, Via: settler.Via, Tool: g.Tool,
			Agent: g.Agent, Policy: g.Policy, PolicyHash: g.PolicyHash, PolicyVersion: g.PolicyVersion,
			Requirement: g.Requirement,
		},
	})
	if err != nil {
		return err
	}
	c.notify(&Notification{Kind: NotifyNotice, Place: r.Place, Run: r.Run, By: settler.By, Text: g.givenText()})
	if err := c.coverWaiting(r, g, f); err != nil {
		return err
	}
	return c.PutGrant(g)
}

// forOthers reports whether somebody decided for another person among those who settled the request.
func (r *RequestHead) forOthers() bool {
	return slices.ContainsFunc(r.counted(), func(d *Decision) bool { return d.For != "" })
}

// newGrant returns the grant that r's decisions make on these terms.
func (c *txn) newGrant(r *RequestHead, terms *GrantTerms, f *facts) (*Grant, error) {
	whole, err := c.Request(c.ws, r.ID)
	if err != nil {
		return nil, err
	}
	condition, err := bounds(whole.Arguments, terms)
	if err != nil {
		return nil, err
	}
	current, err := look(f.policies, r.ID)
	if err != nil {
		return nil, err
	}
	demanded, err := r.Requirement.digest()
	if err != nil {
		return nil, err
	}
	lasts := least(terms.TTL, min(r.Requirement.lasts(), current.lasts()))
	g := &Grant{
		Workspace: c.ws, ID: GrantID(c.newID("grant_")), Scope: terms.Scope, Place: r.Place, Run: r.Run,
		Agent: r.Agent, Tool: r.Tool.Name, Definition: r.Definition, Condition: condition,
		Deny: r.Status == RequestRejected, Created: c.Now(), Expires: c.Now().Add(lasts), Uses: terms.Uses,
		Request: r.ID, Policy: current.Policy, PolicyHash: current.Hash, PolicyVersion: current.Version,
		Requirement: demanded,
	}
	for _, d := range r.counted() {
		g.Decisions, g.Grantors = append(g.Decisions, d.ID), append(g.Grantors, d.By)
	}
	return g, nil
}

// coverWaiting settles the waiting requests of the run that g covers and whose own requirement the decisions about r
// meet, as a standing answer for the run would. Each that is approved so is a use.
func (c *txn) coverWaiting(r *RequestHead, g *Grant, f *facts) error {
	all, err := c.requestsOf(r.Run)
	if err != nil {
		return err
	}
	ids := r.siblings(all)
	whole, err := c.Requests(c.ws, ids)
	if err != nil {
		return err
	}
	if len(whole) != len(ids) {
		return fmt.Errorf("%d of the requests %v are there: %w", len(whole), ids, ErrNotFound)
	}
	for _, content := range whole {
		if !g.Open() {
			return nil
		}
		o := c.requests[content.ID]
		if !g.covers(&Request{RequestHead: *o, RequestContent: content.RequestContent}) {
			continue
		}
		if err := c.cover(r, o, f); err != nil {
			return err
		}
		if o.Status != RequestApproved {
			continue
		}
		g.Used++
		err = c.audit(entry{
			Action: AuditGrantUsed, Actor: system, Run: o.Run, Request: o.ID,
			Data: auditData{Grant: g.ID, Digest: o.Digest, Tool: g.Tool},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Terms says in words what the grant is for. It holds values that a model wrote, as data.
func (g *Grant) Terms() string {
	var bounds []string
	for i := range g.Condition {
		bounds = append(bounds, g.Condition[i].String())
	}
	return wordsGrantTerms(g.Tool, g.Agent, g.Scope, bounds, g.Uses)
}

// givenText continues a sentence that begins with the person whose answer settled the request.
func (g *Grant) givenText() string {
	others := len(slices.Compact(slices.Clone(g.Grantors))) - 1
	var names []string // the values are the call's, which stand on its card
	for _, b := range g.Condition {
		names = append(names, strings.TrimPrefix(b.Pointer, "/"))
	}
	return wordsGrantGiven(g.Deny, others, g.Tool, g.Scope.where(), join(names), g.Uses, g.Expires, g.ID)
}
