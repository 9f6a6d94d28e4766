// Runs a program in a console, presses Ctrl-C there for each line that it reads, and ends with the program's exit code:
// ctrlc.exe PROGRAM ARGUMENT...
#include <stdio.h>
#include <string.h>
#include <windows.h>

static DWORD WINAPI press(void *unused) {
    char line[16];
    while (fgets(line, sizeof line, stdin)) if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) fprintf(stderr, "ctrlc: %lu\n", GetLastError());
    return 0;
}

int main(void) {
    char *command = GetCommandLineA(); // its own name has no blank
    STARTUPINFOA start = {sizeof start};
    PROCESS_INFORMATION process;
    DWORD code = 99;
    start.dwFlags = STARTF_USESTDHANDLES; // its streams are ours, not the console's
    start.hStdInput = INVALID_HANDLE_VALUE;
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    HANDLE out = start.hStdOutput, err = start.hStdError;
    SetHandleInformation(out, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    SetHandleInformation(err, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    FreeConsole(); // Wine's own of a program without a terminal takes no keys
    if (!AllocConsole()) fprintf(stderr, "ctrlc: no console: %lu\n", GetLastError());
    command = strchr(command, ' ');
    if (!command || !CreateProcessA(NULL, command + 1, NULL, NULL, TRUE, 0, NULL, NULL, &start, &process)) {
        fprintf(stderr, "ctrlc: %lu\n", GetLastError());
        return 98;
    }
    SetConsoleCtrlHandler(NULL, TRUE); // the program alone; before, it would have inherited that
    CreateThread(NULL, 0, press, NULL, 0, NULL);
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &code);
    return code;
}
