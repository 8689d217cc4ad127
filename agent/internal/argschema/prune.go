package argschema

// prune returns a schema without the keywords that are not known here, in every place where a schema is.
func prune(node any, depth int) any {
	m, ok := node.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return node
	}
	kept := make(map[string]any, len(m))
	for keyword, v := range m {
		switch s, ok := keywords[keyword]; {
		case !ok:
		case s == one:
			kept[keyword] = prune(v, depth+1)
		case s == list:
			kept[keyword] = pruneList(v, depth)
		case s == byName:
			kept[keyword] = pruneByName(v, depth)
		default:
			kept[keyword] = v
		}
	}
	return kept
}

func pruneList(v any, depth int) any {
	nodes, ok := v.([]any)
	if !ok {
		return v
	}
	kept := make([]any, len(nodes))
	for i, node := range nodes {
		kept[i] = prune(node, depth+1)
	}
	return kept
}

func pruneByName(v any, depth int) any {
	nodes, ok := v.(map[string]any)
	if !ok {
		return v
	}
	kept := make(map[string]any, len(nodes))
	for name, node := range nodes {
		kept[name] = prune(node, depth+1)
	}
	return kept
}
