// Package report counts what was asked, decided and done in a window of time, from the requests and the audit trail of
// a store, for people who answer for that.
//
// A [Builder] is handed every request and every entry of the trail, in any order, and makes a [Report]; it reads and
// writes nothing. [Report.Text] and [Report.HTML] print one; as JSON it is what its tags say. docs/report.md defines
// every figure.
package report
