//go:build bug_j

package plant

const bug = 'j'
