/* The C part of the emulator's HIP libraries: the targets of their function slots before, while and after Python
 * answers.
 *
 * Python fills the slots of a library that it loads itself. A library loaded by something else (a program linked with
 * AMD's library, another library, another language's runtime) starts with empty slots, and the first call starts
 * Python. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((used, visibility("hidden")))

enum { HIP_SUCCESS = 0, HIP_DEINITIALIZED = 4, HIP_NO_DEVICE = 100, HIP_NOT_SUPPORTED = 801 };

extern void *hkhip_slots[];
extern void *const hkhip_defaults[];
extern const char *const hkhip_names[];

#define MOST_FUNCTIONS 4096
static atomic_char said[MOST_FUNCTIONS];
static atomic_int closed, deviceless;

/* Answers a function without an implementation; its trampoline passes the slot's number. */
HIDDEN int64_t hkhip_unsupported(int index) {
    if (atomic_load(&closed)) return HIP_DEINITIALIZED;
    if (atomic_load(&deviceless)) return HIP_NO_DEVICE;
    if (index < MOST_FUNCTIONS && !atomic_exchange(&said[index], 1))
        fprintf(stderr, "hipkittens: the emulated device does not support %s (hipErrorNotSupported)\n",
                hkhip_names[index]);
    return HIP_NOT_SUPPORTED;
}

static int32_t deinitialized(void) { return HIP_DEINITIALIZED; }

/* Result of the calls that static destructors make after the device is gone: there is nothing left to free. */
static int32_t released(void) { return HIP_SUCCESS; }

static const char *no_text(void) { return "deinitialized"; }

static void *after[MOST_FUNCTIONS];

static int releases(const char *name) {
    static const char *const WORDS[] = {"Free", "Unload", "Destroy", "Unregister", "Release"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strstr(name, WORDS[i]) != NULL) return 1;
    return 0;
}

/* Sets the function of a slot; `text` says that it returns a string rather than a hipError_t. */
EXPORT void hkhip_set(int index, void *function, int text) {
    hkhip_slots[index] = function;
    if (index >= MOST_FUNCTIONS) return;
    after[index] = text ? (void *)no_text : releases(hkhip_names[index]) ? (void *)released : (void *)deinitialized;
}

/* Result of the only function that returns a structure, through the caller's memory; no default function fits it. */
typedef struct ChannelFormatDesc {
    int x, y, z, w, kind;
} ChannelFormatDesc;

EXPORT ChannelFormatDesc hkhip_create_channel_desc(int x, int y, int z, int w, int kind) {
    return (ChannelFormatDesc){x, y, z, w, kind};
}

EXPORT void hkhip_set_permanently(int index, void *function) { hkhip_slots[index] = function; }

static char last_words[1 << 14];
static int last_process;

/* A forked process inherits its parent's text. */
static int has_last_words(void) { return last_words[0] != '\0' && last_process == (int)getpid(); }

__attribute__((destructor)) static void say_last_words(void) {
    if (has_last_words()) fputs(last_words, stderr);
}

/* Handler of `abort`, and so of uncaught exceptions. */
static void aborted(int number) {
    if (has_last_words() && write(STDERR_FILENO, last_words, strlen(last_words)) < 0) last_words[0] = '\0';
    signal(number, SIG_DFL);
    raise(number);
}

/* Sets the text printed on standard error when this process ends by `exit` or `abort`; "" for none. */
EXPORT void hkhip_last_words(const char *text) {
    last_process = (int)getpid();
    snprintf(last_words, sizeof last_words, "%s", text);
    struct sigaction handler;
    if (sigaction(SIGABRT, NULL, &handler) == 0 && handler.sa_handler == SIG_DFL) signal(SIGABRT, aborted);
}

/* Called before Python ends: from now on every function that it answered fails quietly. */
EXPORT void hkhip_close(void) {
    atomic_store(&closed, 1);
    for (int i = 0; i < MOST_FUNCTIONS; i++)
        if (after[i] != NULL) hkhip_slots[i] = after[i];
}

#ifdef __linux__
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <wchar.h>

/* Python's C functions, looked up by name, so that no version of its headers is needed and any Python in the process
 * will do.
 */
static struct {
    int (*is_initialized)(void);
    void (*initialize)(int handlers);
    void (*set_program_name)(const wchar_t *name);
    wchar_t *(*decode)(const char *text, size_t *size);
    int (*has_lock)(void);
    int (*take_lock)(void);
    void (*release_lock)(int state);
    void *(*save_thread)(void);
    void (*restore_thread)(void *state);
    int (*run)(const char *code, void *flags);
    void (*before_fork)(void);
    void (*after_fork_parent)(void);
    void (*after_fork_child)(void);
} python;

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_int tried;
static int started_python;
static _Thread_local int inside, forked_by_python, fork_state;

static int look_up(void) {
    struct {
        const char *name;
        void *place;
        int optional;
    } const FUNCTIONS[] = {
        {"Py_IsInitialized", &python.is_initialized, 0},
        {"Py_InitializeEx", &python.initialize, 0},
        {"Py_SetProgramName", &python.set_program_name, 1},
        {"Py_DecodeLocale", &python.decode, 1},
        {"PyGILState_Check", &python.has_lock, 0},
        {"PyGILState_Ensure", &python.take_lock, 0},
        {"PyGILState_Release", &python.release_lock, 0},
        {"PyEval_SaveThread", &python.save_thread, 0},
        {"PyEval_RestoreThread", &python.restore_thread, 0},
        {"PyRun_SimpleStringFlags", &python.run, 0},
        {"PyOS_BeforeFork", &python.before_fork, 0},
        {"PyOS_AfterFork_Parent", &python.after_fork_parent, 0},
        {"PyOS_AfterFork_Child", &python.after_fork_child, 0},
    };
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
        void *function = dlsym(RTLD_DEFAULT, FUNCTIONS[i].name);
        if (function == NULL && !FUNCTIONS[i].optional) return 0;
        memcpy(FUNCTIONS[i].place, &function, sizeof function);
    }
    return 1;
}

/* Python itself forks, to start a compiler for example, and does the same around the fork. */
static void before_fork(void) {
    forked_by_python = python.has_lock();
    if (forked_by_python) return;
    fork_state = python.take_lock();
    python.before_fork();
}

static void after_fork_in_parent(void) {
    if (forked_by_python) return;
    python.after_fork_parent();
    python.release_lock(fork_state);
}

static void after_fork_in_child(void) {
    if (forked_by_python) return;
    python.after_fork_child();
    python.release_lock(fork_state);
}

static void run(const char *code) {
    int state = python.take_lock();
    python.run(code, NULL);
    python.release_lock(state);
}

#define MOST_LINES 3
#define FILE_NAME "hipkittens-python"

/* Reads the lines of the file beside this library: Python's shared library, its program and the workbench's folder. */
static int read_lines(const char *folder, char *text, size_t size, char *lines[MOST_LINES]) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/" FILE_NAME, folder) >= (int)sizeof path) return 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    size_t length = fread(text, 1, size - 1, file);
    fclose(file);
    text[length] = '\0';
    for (int i = 0; i < MOST_LINES; i++) {
        lines[i] = text;
        char *end = strchr(text, '\n');
        if (end == NULL) return 0;
        *end = '\0';
        text = end + 1;
    }
    return 1;
}

static int start_python(const char *library, const char *program) {
    if (*library == '\0') {
        fprintf(stderr,
                "hipkittens: the emulated device needs Python's shared library, and %s has none: on Debian and Ubuntu "
                "`apt install libpython3.N` for its version 3.N; conda's Python and uv's have one\n",
                program);
        return 0;
    }
    if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) == NULL || !look_up()) {
        fprintf(stderr, "hipkittens: Python does not start from %s: %s\n", library, dlerror());
        return 0;
    }
    if (python.is_initialized()) return 1;
    /* The environment's Python program; packages are located relative to it. */
    if (python.set_program_name != NULL && python.decode != NULL) python.set_program_name(python.decode(program, NULL));
    python.initialize(0);
    python.save_thread();
    started_python = 1;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return 1;
}

static void start(void) {
    static char text[3 * PATH_MAX], code[8 * PATH_MAX];
    char *lines[MOST_LINES], folder[PATH_MAX];
    Dl_info self;
    if (!dladdr((void *)start, &self) || strlen(self.dli_fname) >= sizeof folder) return;
    strcpy(folder, self.dli_fname);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) return;
    *slash = '\0';
    /* Without the file, Python loads this library itself and fills its slots. */
    if (!read_lines(folder, text, sizeof text, lines)) return;
    if (!(look_up() && python.is_initialized()) && !start_python(lines[0], lines[1])) return;
    snprintf(code, sizeof code,
             "import sys\n"
             "sys.path.append('''%s''')\n"
             "try:\n"
             "    from workbench.runtime.foreign_process import start\n"
             "except ImportError as error:\n"
             "    print(f'hipkittens: {sys.executable} cannot run the emulated device ({error}): install '\n"
             "          'hipkittens-workbench for it, or run the Python that has it', file=sys.stderr)\n"
             "else:\n"
             "    start('''%s''', %s)\n",
             lines[2], folder, started_python ? "True" : "False");
    run(code);
}

static int is_filled(void) {
    for (int i = 0; hkhip_defaults[i] != NULL; i++)
        if (hkhip_slots[i] != hkhip_defaults[i]) return 1;
    return 0;
}

/* Function for a call to an empty slot: Python's function, after Python has started; NULL if there is none. */
HIDDEN void *hkhip_first_call(int index) {
    if (!atomic_load(&tried) && !inside) {
        /* A thread that waited here with Python's lock would block the one that starts Python. Before Python is
         * initialised, every thread seems to hold the lock. */
        int holds = look_up() && python.is_initialized() && python.has_lock();
        void *saved = holds ? python.save_thread() : NULL;
        pthread_mutex_lock(&starting);
        if (saved != NULL) python.restore_thread(saved);
        inside = 1;
        if (!atomic_load(&tried) && !is_filled()) start();
        atomic_store(&deviceless, !is_filled());
        atomic_store(&tried, 1);
        inside = 0;
        pthread_mutex_unlock(&starting);
    }
    void *function = hkhip_slots[index];
    return function == hkhip_defaults[index] ? NULL : function;
}

/* Python's exit handlers do not run in a process that Python did not start, so they are run here. */
__attribute__((destructor)) static void finish(void) {
    if (started_python) run("import atexit, sys\natexit._run_exitfuncs()\nsys.stdout.flush()\n");
}
#else
HIDDEN void *hkhip_first_call(int index) {
    (void)index;
    return NULL;
}
#endif
