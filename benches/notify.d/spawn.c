/* spawn ROUNDS PAYLOAD -- CMD… -- CMD… : runs the commands in turn, ROUNDS times each, and prints for each
 * `median_us p10_us p90_us failed`. Interleaved, so that a busy machine is busy for all of them alike.
 * Each child gets the payload on a pipe that is already filled and closed, as Claude Code's hooks do, and
 * /dev/null as stdout and stderr. Timed from before the spawn until the child has been reaped. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rounds = atoi(argv[1]), commands = 0;
    char **command[16];
    for (int i = 3; i < argc; i++)
        if (!strcmp(argv[i], "--")) {
            argv[i] = NULL;
            command[commands++] = argv + i + 1;
        }
    static char payload[60000];
    int file = open(argv[2], O_RDONLY);
    ssize_t size = read(file, payload, sizeof payload);
    close(file);
    int null = open("/dev/null", O_WRONLY);
    double *times = malloc(sizeof(double) * rounds * commands);
    int failed[16] = {0};
    for (int r = -3; r < rounds; r++) /* three rounds to warm up */
        for (int c = 0; c < commands; c++) {
            int ends[2], status;
            pid_t pid;
            if (pipe2(ends, O_CLOEXEC) || write(ends[1], payload, size) != size) return 1;
            close(ends[1]);
            posix_spawn_file_actions_t actions;
            posix_spawn_file_actions_init(&actions);
            posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
            posix_spawn_file_actions_adddup2(&actions, null, 1);
            posix_spawn_file_actions_adddup2(&actions, null, 2);
            double start = now_us();
            if (posix_spawnp(&pid, command[c][0], &actions, NULL, command[c], environ)) return 1;
            waitpid(pid, &status, 0);
            double took = now_us() - start;
            close(ends[0]);
            posix_spawn_file_actions_destroy(&actions);
            if (r >= 0) {
                times[c * rounds + r] = took;
                failed[c] += status != 0;
            }
        }
    for (int c = 0; c < commands; c++) {
        double *mine = times + c * rounds;
        qsort(mine, rounds, sizeof(double), compare);
        printf("%.1f %.1f %.1f %d\n", mine[rounds / 2], mine[rounds / 10], mine[rounds * 9 / 10], failed[c]);
    }
    return 0;
}
