// Package jsondoc reads JSON that a site sent: a whole answer, or what an attribute of an element holds.
//
// Purpose: Parse checks a text once and returns its Value; a Path, compiled when a definition is loaded, finds values in
// it. What a value says is as written: a number with all of its digits, a string decoded.
//
// Invariants: a text is read whole or not at all. What is no JSON for encoding/json is an error with its place, ErrCut
// where it only ends too early. gjson, which finds the values, is never handed anything else: its own check dies of
// deep nesting. A path is taken step by step, so that gjson's language of paths, with its modifiers, wildcards and
// pipes, never sees more than one escaped key or one number (docs/decisions/0076). Of members of one name the first
// counts. The work is bounded by the length of the text times that of the path; nothing here calls itself for what the
// text nests. Values share the memory of the text.
//
// Crash: nothing here has state or does I/O.
//
// Imports: gjson alone.
//
// Tests: tables for paths and texts; a fuzz target that compares every path with a reading of encoding/json's tokens.
package jsondoc
