// Package export writes rows of listings into files that other programs read: CSV, TSV, JSON
// lines, XLSX and GeoJSON.
//
// Rows are written as they come: memory does not grow with their number. A file appears under
// its name whole or not at all. Text that came from the web can't act: control characters are
// shown, and a cell that a spreadsheet would run begins with an apostrophe.
//
// Imports: store/report, yp and yp/folder; excelize, klauspost/compress, and golang.org/x/sys
// and x/text.
package export
