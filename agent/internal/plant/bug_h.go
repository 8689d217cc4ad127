//go:build bug_h

package plant

const bug = 'h'
