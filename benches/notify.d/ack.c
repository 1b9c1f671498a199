/* A stand-in for the server: binds a free loopback port, prints it, and acknowledges every request at once, there and on
 * the socket that its argument names. One connection after the other; what it measures is the client. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 512)) return 1;
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    if (argc > 1 && fork() == 0) {
        struct sockaddr_un path = {.sun_family = AF_UNIX};
        strncpy(path.sun_path, argv[1], sizeof path.sun_path - 1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        listener = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(listener, (struct sockaddr *)&path, sizeof path) || listen(listener, 512)) return 1;
    }
    static const char body[] = "{\"status\":\"ok\",\"event_id\":1,\"agent_id\":1,\"is_new_agent\":false,"
                               "\"correlation_method\":\"session_id\",\"state\":\"idle\",\"status_now\":\"idle\"}";
    char answer[512], request[65536];
    int size = snprintf(answer, sizeof answer,
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n"
                        "connection: close\r\n\r\n%s", sizeof body - 1, body);
    for (;;) {
        int c = accept(listener, NULL, NULL);
        if (c < 0) continue;
        size_t have = 0, want = 0;
        ssize_t n;
        while ((n = read(c, request + have, sizeof request - 1 - have)) > 0) {
            have += n;
            request[have] = 0;
            char *end = strstr(request, "\r\n\r\n");
            if (end && !want) {
                char *field = strcasestr(request, "content-length:");
                want = end + 4 - request + (field ? strtoul(field + 15, NULL, 10) : 0);
            }
            if (want && have >= want) {
                if (write(c, answer, size) != size) break;
                break;
            }
        }
        close(c);
    }
}
