package transfer

import "context"

// Survey counts what a store would hand to Move, and recomputes its audit chains. It reads everything once.
func Survey(ctx context.Context, from Source, progress func(Progress)) (Report, error) {
	var report Report
	var chain chain
	var total uint64
	for _, kind := range Kinds() {
		sum := Sum{Kind: kind}
		for r, err := range from.Records(ctx, kind, nil) {
			if e, ok := r.(Audit); ok && err == nil {
				err = chain.add(e.AuditEntry, false)
			}
			if err != nil {
				return report, err
			}
			if sum.Records++; sum.Records%PageRecords == 0 && progress != nil {
				progress(Progress{Kind: kind, Records: total + sum.Records})
			}
		}
		total += sum.Records
		report.Kinds = append(report.Kinds, sum)
	}
	report.Workspaces = chain.trails
	return report, ctx.Err()
}
