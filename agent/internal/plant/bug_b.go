//go:build bug_b

package plant

const bug = 'b'
