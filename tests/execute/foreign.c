/* A program without any knowledge of the workbench: linked with AMD's libamdhip64 by its SONAME, HIP declared by hand.

    foreign CODE [fork-first | fork-after | threads]

It prints which libraries the process loads after its libraries' destructors have begun to run.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int hipMalloc(void **, size_t);
int hipFree(void *);
int hipMemcpy(void *, const void *, size_t, int);
int hipModuleLoad(void **, const char *);
int hipModuleUnload(void *);
int hipModuleGetFunction(void **, void *, const char *);
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                          void **);

static const char *file;
static void *module;
static int ending;

/* Every library of the process calls this function instead of the C library's. */
void *dlopen(const char *name, int flags) {
    if (ending && name != NULL) printf("loaded at the end: %s\n", name);
    return ((void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"))(name, flags);
}

__attribute__((destructor)) static void at_the_end(void) {
    ending = 1;
    if (module != NULL) printf("unload %d\n", hipModuleUnload(module));
}

static void *work(void *name) {
    void *loaded, *kernel, *memory;
    float x[64];
    for (int i = 0; i < 64; i++) x[i] = i;
    if (hipModuleLoad(&loaded, file) || hipModuleGetFunction(&kernel, loaded, "twice")) exit(2);
    if (hipMalloc(&memory, sizeof x) || hipMemcpy(memory, x, sizeof x, 1)) exit(3);
    void *arguments[] = {&memory};
    if (hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL)) exit(4);
    if (hipMemcpy(x, memory, sizeof x, 2) || hipFree(memory)) exit(5);
    printf("%s: %g\n", (const char *)name, x[5]);
    fflush(stdout);
    module = loaded;
    return NULL;
}

int main(int count, char **words) {
    const char *how = count > 2 ? words[2] : "";
    file = words[1];
    if (strcmp(how, "threads") == 0) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, "thread");
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        return 0;
    }
    if (strcmp(how, "fork-first") != 0) work("parent");
    if (strncmp(how, "fork", 4) == 0) {
        if (fork() == 0) {
            work("child");
            exit(7);
        }
        int status;
        wait(&status);
        if (strcmp(how, "fork-first") == 0) work("parent");
        return WEXITSTATUS(status);
    }
    return 0;
}
