//go:build wine

package storetest

import _ "unsafe" // go:linkname

// fallback has os.RemoveAll, with which each TempDir ends, remove files in the way of Windows before 10. The newer way
// (FileDispositionInformationEx) is missing in Wine 8.0, which answers "Invalid function", and os takes that for an error.
// Tests under Wine are linked by -ldflags=-checklinkname=0.
//
//go:linkname fallback internal/syscall/windows.TestDeleteatFallback
var fallback bool

func init() { fallback = true }
