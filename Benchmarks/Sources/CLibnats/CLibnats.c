#include "CLibnats.h"

#include <inttypes.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static natsConnection *connectTo(const char *url) {
  natsConnection *connection = NULL;
  return natsConnection_ConnectTo(&connection, url) == NATS_OK ? connection : NULL;
}

// A message with the header that a relay's messages have, whose number tells one that is lost.
static natsStatus publishNumbered(natsConnection *connection, const char *bytes, int size, long number) {
  char header[96];
  snprintf(header, sizeof header, "0123456789abcdef %ld 1 1 nats-speed -", number);
  natsMsg *message = NULL;
  natsStatus status = natsMsg_Create(&message, "speed", NULL, bytes, size);
  if (status == NATS_OK) status = natsMsgHeader_Set(message, "Campanile", header);
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection, message);
  natsMsg_Destroy(message);
  return status;
}

int64_t libnats_publish(const char *url, long count, int size, int hasHeader) {
  natsConnection *connection = connectTo(url);
  if (connection == NULL) return -1;
  char *bytes = calloc(1, size);
  natsStatus status = NATS_OK;
  int64_t start = nats_NowInNanoSeconds();
  for (long i = 0; i < count && status == NATS_OK; i++)
    status = hasHeader ? publishNumbered(connection, bytes, size, i)
                       : natsConnection_Publish(connection, "speed", bytes, size);
  if (status == NATS_OK) status = natsConnection_FlushTimeout(connection, 60000);
  int64_t end = nats_NowInNanoSeconds();
  free(bytes);
  natsConnection_Destroy(connection);
  return status == NATS_OK ? end - start : -1;
}

struct arrivals {
  const char *url;
  int size;
  atomic_long seen;
  long count;
  int64_t first, last;
  _Atomic int isOver;
};

static void arrived(natsConnection *connection, natsSubscription *subscription, natsMsg *message, void *closure) {
  (void)connection, (void)subscription;
  struct arrivals *arrivals = closure;
  long seen = atomic_fetch_add_explicit(&arrivals->seen, 1, memory_order_relaxed) + 1;
  if (seen == 1) arrivals->first = nats_NowInNanoSeconds();
  if (seen == arrivals->count) {
    arrivals->last = nats_NowInNanoSeconds();
    atomic_store(&arrivals->isOver, 1);
  }
  natsMsg_Destroy(message);
}

static void *publish(void *closure) {
  struct arrivals *arrivals = closure;
  libnats_publish(arrivals->url, arrivals->count, arrivals->size, 0);
  return NULL;
}

int64_t libnats_receive(const char *url, long count, int size) {
  natsConnection *connection = connectTo(url);
  if (connection == NULL) return -1;
  struct arrivals arrivals = {.url = url, .size = size, .count = count};
  natsSubscription *subscription = NULL;
  natsStatus status = natsConnection_Subscribe(&subscription, connection, "speed", arrived, &arrivals);
  // As many may wait as there are.
  if (status == NATS_OK) status = natsSubscription_SetPendingLimits(subscription, -1, -1);
  if (status == NATS_OK) status = natsConnection_Flush(connection);
  if (status == NATS_OK) {
    pthread_t publisher;
    if (pthread_create(&publisher, NULL, publish, &arrivals) != 0) abort();
    for (int waited = 0; waited < 60000 && !atomic_load(&arrivals.isOver); waited++) nats_Sleep(1);
    pthread_join(publisher, NULL);
    if (!atomic_load(&arrivals.isOver)) status = NATS_TIMEOUT;
  }
  natsSubscription_Destroy(subscription);
  // Until nobody calls `arrived` any more.
  natsConnection_Destroy(connection);
  nats_Sleep(50);
  return status == NATS_OK ? arrivals.last - arrivals.first : -1;
}

int64_t libnats_store(const char *url, long count, int size, int hasIDs) {
  natsConnection *connection = connectTo(url);
  if (connection == NULL) return -1;
  jsCtx *stream = NULL;
  char *bytes = calloc(1, size);
  natsStatus status = natsConnection_JetStream(&stream, connection, NULL);
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.ExpectStream = "SPEED";
  char id[64];
  int64_t start = nats_NowInNanoSeconds();
  for (long i = 0; i < count && status == NATS_OK; i++) {
    snprintf(id, sizeof id, "%" PRIx64 "-%ld", start, i);
    options.MsgId = id;
    status = js_PublishAsync(stream, "stored", bytes, size, hasIDs ? &options : NULL);
  }
  jsPubOptions_Init(&options);
  options.MaxWait = 60000;
  if (status == NATS_OK) status = js_PublishAsyncComplete(stream, &options);
  int64_t end = nats_NowInNanoSeconds();
  free(bytes);
  jsCtx_Destroy(stream);
  natsConnection_Destroy(connection);
  return status == NATS_OK ? end - start : -1;
}
