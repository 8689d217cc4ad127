package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"time"
)

// What is in the list comes from the program itself: the toolchain writes into it which modules it was built from, and
// their sums. A list that is made from the source also has what only tests use.

type spdxDocument struct {
	Version      string             `json:"spdxVersion"`
	License      string             `json:"dataLicense"`
	ID           string             `json:"SPDXID"`
	Name         string             `json:"name"`
	Namespace    string             `json:"documentNamespace"`
	Creation     spdxCreation       `json:"creationInfo"`
	Packages     []spdxPackage      `json:"packages"`
	Relationship []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID        string         `json:"SPDXID"`
	Name      string         `json:"name"`
	Version   string         `json:"versionInfo"`
	Download  string         `json:"downloadLocation"`
	Analyzed  bool           `json:"filesAnalyzed"`
	License   string         `json:"licenseConcluded"`
	Declared  string         `json:"licenseDeclared"`
	Copyright string         `json:"copyrightText"`
	Purpose   string         `json:"primaryPackagePurpose"`
	Checksums []spdxChecksum `json:"checksums,omitempty"`
	Refs      []spdxRef      `json:"externalRefs,omitempty"`
	Comment   string         `json:"comment,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const unsaid = "NOASSERTION"

func makeSBOM(program, out string) error {
	b, err := readBuild(program)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	text, err := json.MarshalIndent(sbomOf(b, filepath.Base(program), hex.EncodeToString(sum[:])), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

func sbomOf(b *build, file, sum string) *spdxDocument {
	doc := &spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: file,
		Namespace: "urn:countersign:sbom:" + sum,
		Creation: spdxCreation{
			Created: b.Time.UTC().Format(time.RFC3339), Creators: []string{"Tool: countersign-bundle"},
		},
	}
	main := module(b.Path, b.Version)
	main.ID, main.Purpose, main.Declared = "SPDXRef-program", "APPLICATION", "Apache-2.0"
	main.Checksums = []spdxChecksum{{"SHA256", sum}}
	main.Comment = "built from commit " + b.Revision + " for " + b.OS + "/" + b.Arch
	doc.Packages = append(doc.Packages, main)
	doc.Relationship = append(doc.Relationship, spdxRelationship{doc.ID, "DESCRIBES", main.ID})
	parts := []spdxPackage{module("stdlib", b.GoVersion)}
	for _, dep := range b.Deps {
		parts = append(parts, dependency(dep))
	}
	for _, p := range parts {
		doc.Packages = append(doc.Packages, p)
		doc.Relationship = append(doc.Relationship, spdxRelationship{main.ID, "DEPENDS_ON", p.ID})
	}
	return doc
}

func dependency(m *debug.Module) spdxPackage {
	if m.Replace != nil {
		m = m.Replace
	}
	p := module(m.Path, m.Version)
	if m.Sum != "" {
		p.Comment = "go.sum: " + m.Sum
	}
	return p
}

var noIDCharacter = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

func module(path, version string) spdxPackage {
	return spdxPackage{
		ID: "SPDXRef-" + noIDCharacter.ReplaceAllString(path, "-"), Name: path, Version: version, Download: unsaid,
		License: unsaid, Declared: unsaid, Copyright: unsaid, Purpose: "LIBRARY",
		Refs: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}},
	}
}
