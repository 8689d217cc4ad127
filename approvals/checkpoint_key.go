package approvals

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// How to make what is asked for.
const makeAuditKey = "make one with: openssl genpkey -algorithm ed25519 -out audit.pem"

// ParseAuditKey reads the private key that signs checkpoints: an ed25519 key as PKCS#8 in PEM. Its errors hold nothing
// of the file.
func ParseAuditKey(text []byte) (ed25519.PrivateKey, error) {
	block, err := onlyBlock(text)
	if err != nil {
		return nil, err
	}
	switch block.Type {
	case "PRIVATE KEY":
	case "ENCRYPTED PRIVATE KEY":
		return nil, errors.New("the key is encrypted with a passphrase, which nobody could type at the start; " +
			"write it without: openssl pkey -in FILE -out audit.pem")
	case "PUBLIC KEY":
		return nil, errors.New("it is a public key; the private one signs")
	default:
		return nil, fmt.Errorf("it holds %q, not an ed25519 key as PKCS#8; %s", block.Type, makeAuditKey)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the key cannot be read as PKCS#8; " + makeAuditKey)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it is a %s key, not ed25519; %s", keyKind(parsed), makeAuditKey)
	}
	return key, nil
}

// ParseAuditPublicKey reads the key that checkpoints are verified with: a public ed25519 key in PEM, or the private
// one, which has the public one in it.
func ParseAuditPublicKey(text []byte) (ed25519.PublicKey, error) {
	block, err := onlyBlock(text)
	if err != nil {
		return nil, err
	}
	if block.Type != "PUBLIC KEY" {
		key, err := ParseAuditKey(text)
		if err != nil {
			return nil, err
		}
		return key.Public().(ed25519.PublicKey), nil
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the public key cannot be read; write it with: openssl pkey -in audit.pem -pubout")
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("it is a %s key, not ed25519", keyKind(parsed))
	}
	return key, nil
}

func onlyBlock(text []byte) (*pem.Block, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is no PEM file; " + makeAuditKey)
	}
	if more, _ := pem.Decode(rest); more != nil {
		return nil, errors.New("it holds more than one key or certificate; give a file with the key alone")
	}
	return block, nil
}

// keyKind names a key that is none of ours.
func keyKind(key any) string {
	switch fmt.Sprintf("%T", key) {
	case "*rsa.PrivateKey", "*rsa.PublicKey":
		return "RSA"
	case "*ecdsa.PrivateKey", "*ecdsa.PublicKey":
		return "ECDSA"
	}
	return "different"
}
