/* Start of a program for the emulated device from a shell: Python loads the same file again, as a library.
 *
 * The file is a shared object without an interpreter, so the kernel jumps here with nothing loaded or relocated:
 * no libc, and no data that holds an address. `program_process` loads the file and calls `hipkittens_main`.
 */
#include <stddef.h>

enum { MOST_PATH = 4096, NOT_STARTED = 127 };

#if defined(__x86_64__)
enum { WRITE = 1, EXECVE = 59, EXIT = 231, READLINKAT = 267 };
__asm__(".globl hipkittens_start\n.hidden hipkittens_start\nhipkittens_start:\n"
        "  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call hipkittens_begin\n");
static long call(long number, long a, long b, long c, long d) {
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return number;
}
#elif defined(__aarch64__)
enum { WRITE = 64, EXECVE = 221, EXIT = 94, READLINKAT = 78 };
__asm__(".globl hipkittens_start\n.hidden hipkittens_start\nhipkittens_start:\n"
        "  mov x29, #0\n  mov x0, sp\n  bl hipkittens_begin\n");
static long call(long number, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#endif

static void say(const char *text) {
    size_t length = 0;
    while (text[length]) length++;
    call(WRITE, 2, (long)text, (long)length, 0);
}

/* `stack` points to the kernel's initial stack: the number of arguments, the arguments, null, the environment, null. */
__attribute__((used, noreturn, visibility("hidden"))) void hipkittens_begin(long *stack) {
    long count = stack[0];
    char **given = (char **)(stack + 1), **environment = given + count + 1;
    char path[MOST_PATH];
    const char *arguments[count + 8];
    long length = call(READLINKAT, -100, (long)"/proc/self/exe", (long)path, MOST_PATH - 1), next = 0;
    path[length < 0 ? 0 : length] = 0;
    arguments[next++] = PYTHON;
    arguments[next++] = "-P";
    arguments[next++] = "-c";
    arguments[next++] = CODE;
    arguments[next++] = path;
    for (long i = 0; i < count; i++) arguments[next++] = given[i];
    arguments[next] = NULL;
    call(EXECVE, (long)PYTHON, (long)arguments, (long)environment, 0);
    say("hipkittens: this program runs on the emulated device, which is in Python, and " PYTHON
        " cannot be started: link the program again.\n");
    for (;;) call(EXIT, NOT_STARTED, 0, 0, 0);
}

/* Programs find files beside themselves through this link, which points to Python here; for the program's own calls it
 * is answered with the program's path. */
struct place {
    const char *file, *base, *name, *address;
};
extern int dladdr(const void *address, struct place *found);
extern int hipkittens_main(int, char **, char **);
extern int *__errno_location(void);

__attribute__((visibility("hidden"))) long readlink(const char *path, char *buffer, size_t size) {
    static const char own[] = "/proc/self/exe";
    size_t same = 0, length = 0;
    struct place program;
    while (same < sizeof own && path[same] == own[same]) same++;
    if (same == sizeof own && dladdr((const void *)hipkittens_main, &program)) {
        while (length < size && program.file[length]) buffer[length] = program.file[length], length++;
        return (long)length;
    }
    long result = call(READLINKAT, -100, (long)path, (long)buffer, (long)size);
    if (result >= 0) return result;
    *__errno_location() = (int)-result;
    return -1;
}

extern int main(int, char **, char **);

/* Under a separate name, since `main` may be hidden. */
__attribute__((visibility("default"))) int hipkittens_main(int count, char **arguments, char **environment) {
    return main(count, arguments, environment);
}
