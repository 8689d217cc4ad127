package httptool

import (
	"net/netip"
	"testing"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "11.0.0.1": true, "172.15.255.255": true, "172.32.0.1": true,
		"100.63.255.255": true, "100.128.0.1": true, "::ffff:8.8.8.8": true, "2606:4700::1111": true,
		"2a00:1450::1": true,

		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "127.0.0.1": false, "169.254.169.254": false,
		"172.16.0.1": false, "192.168.0.1": false, "192.0.0.9": false, "198.19.0.1": false,
		"224.0.0.251": false, "240.0.0.1": false, "255.255.255.255": false, "::": false, "::1": false,
		"::ffff:127.0.0.1": false, "::127.0.0.1": false, "64:ff9b::8.8.8.8": false, "64:ff9b:1::1": false,
		"100::1": false, "2001::1": false, "2001:db8::1": false, "2002:808:808::": false, "3fff::1": false,
		"fc00::1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "ff02::1": false, "4000::1": false,
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %t, want %t", addr, got, want)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address at all is public")
	}
}
