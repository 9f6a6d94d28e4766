// The library that Go's programs take their random numbers from, for a Wine that has none (before 8.15):
// x86_64-w64-mingw32-gcc -shared -o bcryptprimitives.dll bcryptprimitives.c -ladvapi32
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG); // RtlGenRandom

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T left) {
    while (left > 0) {
        ULONG n = left > 0x40000000 ? 0x40000000 : (ULONG)left;
        if (!SystemFunction036(to, n)) return FALSE;
        to += n;
        left -= n;
    }
    return TRUE;
}
