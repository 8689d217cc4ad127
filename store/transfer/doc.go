// Package transfer moves all that a store keeps into another one, of any kind.
//
// The stream between them is neutral: one type of Record for each kind of thing a store keeps, in the words of package
// approvals, and nothing of how a store keeps it. Indexes are no part of it: they follow from the records. Each store
// reads its records as a Source, in the order of their keys, and takes them as a Target.
//
// # Promises
//
//   - Move can be interrupted at any moment, also by a kill or a power cut, and goes on where it was: a Target keeps in
//     one transaction what it was given and how far that is (Mark).
//   - Until all of it is there and was compared, the target is half a store: whatever opens stores refuses it with
//     ErrHalf.
//   - The end is compared with the source record for record and field for field, and the audit chain of every workspace
//     is recomputed. Nothing that differs is ever handed over as done.
//   - The source is only read.
//   - It takes little memory, however much there is: records are read and written in batches of a bounded size.
//
// Fields that are added to a record of package approvals travel without a change here, and Form notices a store that
// loses them. A new kind of record takes a type in records.go and an entry in kinds.
//
// # Source files
//
//	kinds, records, key   what the stream is made of
//	form                  a record as bytes, to compare and to sum
//	stores                what a store offers: Source and Target
//	move*, survey         moving: the copy, then the comparison; counting beforehand
package transfer
