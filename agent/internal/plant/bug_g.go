//go:build bug_g

package plant

const bug = 'g'
