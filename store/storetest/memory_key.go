package storetest

import (
	"encoding/binary"
	"strings"

	"countersign/approvals"
)

// A key is a list of parts, the kind of record first. Keys compare as the lists do: each part ends with 0x00 0x01,
// and a 0x00 within a part is written as 0x00 0xff.
func key(kind string, ws approvals.WorkspaceID, parts ...string) string {
	var k strings.Builder
	writePart(&k, kind)
	writePart(&k, string(ws))
	for _, part := range parts {
		writePart(&k, part)
	}
	return k.String()
}

func writePart(k *strings.Builder, part string) {
	k.WriteString(strings.ReplaceAll(part, "\x00", "\x00\xff"))
	k.WriteString("\x00\x01")
}

// parts is the inverse of key: the kind, the workspace and the others.
func parts(k string) []string {
	list := strings.Split(strings.TrimSuffix(k, "\x00\x01"), "\x00\x01")
	for i, part := range list {
		list[i] = strings.ReplaceAll(part, "\x00\xff", "\x00")
	}
	return list
}

// everywhere is what the keys of a kind start with, in all workspaces.
func everywhere(kind string) string {
	var k strings.Builder
	writePart(&k, kind)
	return k.String()
}

// after returns the first key that can come after k.
func after(k string) string { return k + "\x00" }

// number returns a part that sorts as n does.
func number(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// placeParts are the parts of a key that name a place.
func placeParts(p approvals.Place, more ...string) []string {
	return append([]string{p.Surface, p.Channel, p.Thread}, more...)
}
