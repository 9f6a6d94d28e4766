// Package measure hands the metrics of a database (report.Measures) to programs: as
// Prometheus' text, as JSON, as an answer to "is it well?", and as a file.
//
// Purpose: cli mounts its handlers on the page's server, and has the file written while a run
// goes on. It decides nothing: what is a reason for an alarm is for whoever reads it.
//
// Invariants: a database is read at most once a second however many ask, and for at most a
// twentieth of the time; a figure that is not known is null in JSON and absent in the text,
// never 0; a label holds words of ours, names of sources and the file's name, nothing that
// grows with the crawl; the file is replaced as a whole.
//
// Crash: a file that was being written stays under another name, and is removed a day later
// by the next one that is written.
//
// Imports: store and store/report for what is read, cli/export for a file that appears when it is whole, and yp.
//
// Tests: the text is read by Prometheus' own parser; real files; a clock that the test moves.
package measure
