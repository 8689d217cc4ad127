package bot

// omit names the members of a JSON object that nobody here reads: nil leaves the whole member out, anything else what
// it names of the object in it.
type omit map[string]omit

// without returns the JSON object raw with null for the values that o names, so that what decodes it need not pass over
// them twice: the blocks of a message are most of what Slack answers. What is left out is not checked to be JSON. A raw
// that makes no sense comes back as it is, for the decoder to refuse.
func without(raw []byte, o omit) []byte {
	p := pruner{walker: walker{raw: raw}}
	p.space()
	if p.object(o); p.lost || p.kept == 0 {
		return raw
	}
	return append(p.out, raw[p.kept:]...)
}

// pruner copies JSON, but for what is left out.
type pruner struct {
	walker
	kept int // raw is in out, or left out, up to here
	out  []byte
}

// object steps over an object and leaves out of it what o names.
func (p *pruner) object(o omit) {
	p.pass('{')
	for p.space(); !p.lost && !p.is('}'); p.space() {
		p.member(o)
		if p.space(); !p.is('}') {
			p.pass(',')
		}
	}
	p.pass('}')
}

func (p *pruner) member(o omit) {
	name := p.text()
	p.space()
	p.pass(':')
	p.space()
	inner, named := o[string(name)]
	begin := p.at
	switch {
	case named && inner != nil && p.is('{'):
		p.object(inner)
	case named && inner == nil:
		p.value()
		p.leaveOut(begin)
	default:
		p.value()
	}
}

// leaveOut puts null in the place of what has been stepped over since begin.
func (p *pruner) leaveOut(begin int) {
	if p.lost {
		return
	}
	p.out = append(append(p.out, p.raw[p.kept:begin]...), "null"...)
	p.kept = p.at
}
