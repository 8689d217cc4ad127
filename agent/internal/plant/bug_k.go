//go:build bug_k

package plant

const bug = 'k'
