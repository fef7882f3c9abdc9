// A program that does nothing but to send: what the server takes at the most.
#include "CLibnats.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { framesInRow = 512 };

static int connectTo(const char *url) {
  char host[256], port[16];
  if (sscanf(url, "nats://%255[^:/]:%15[0-9]", host, port) != 2) return -1;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
  if (getaddrinfo(host, port, &hints, &found) != 0) return -1;
  int file = socket(found->ai_family, SOCK_STREAM, 0), yes = 1;
  if (file >= 0 && connect(file, found->ai_addr, found->ai_addrlen) != 0) {
    close(file);
    file = -1;
  }
  freeaddrinfo(found);
  if (file >= 0) setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return file;
}

static int sendAll(int file, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t sent = send(file, bytes, count, MSG_NOSIGNAL);
    if (sent <= 0) return 0;
    bytes += sent;
    count -= sent;
  }
  return 1;
}

// Sends a ping, and reads lines until its answer.
static int ping(int file, FILE *input) {
  char line[8192];
  if (!sendAll(file, "PING\r\n", 6)) return 0;
  while (fgets(line, sizeof line, input) != NULL) {
    if (strncmp(line, "PONG", 4) == 0) return 1;
    if (strncmp(line, "-ERR", 4) == 0) return 0;
  }
  return 0;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int64_t prepared_publish(const char *url, long count, int size, int hasHeader) {
  const char *header = "NATS/1.0\r\nCampanile: 0123456789abcdef 100000 1 1 nats-speed -\r\n\r\n";
  int headerSize = hasHeader ? (int)strlen(header) : 0;
  char line[64];
  int lineSize = hasHeader
                     ? snprintf(line, sizeof line, "HPUB speed %d %d\r\n", headerSize, headerSize + size)
                     : snprintf(line, sizeof line, "PUB speed %d\r\n", size);
  size_t frameSize = lineSize + headerSize + size + 2;
  char *frames = calloc(framesInRow, frameSize);
  for (int i = 0; i < framesInRow; i++) {
    char *frame = frames + i * frameSize;
    memcpy(frame, line, lineSize);
    memcpy(frame + lineSize, header, headerSize);
    memcpy(frame + frameSize - 2, "\r\n", 2);
  }
  int64_t elapsed = -1;
  int file = connectTo(url);
  FILE *input = file >= 0 ? fdopen(file, "r") : NULL;
  const char *hello = "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n";
  if (input != NULL && sendAll(file, hello, strlen(hello)) && ping(file, input)) {
    int64_t start = now();
    int isSent = 1;
    for (long rest = count; rest > 0 && isSent; rest -= framesInRow)
      isSent = sendAll(file, frames, (rest < framesInRow ? rest : framesInRow) * frameSize);
    if (isSent && ping(file, input)) elapsed = now() - start;
  }
  if (input != NULL) fclose(input);
  free(frames);
  return elapsed;
}
