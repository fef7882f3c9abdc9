// The C client of NATS, libnats, doing what the benchmark measures. Each function returns nanoseconds,
// or -1 if something fails.
#include <stdint.h>

// Publishes messages of so many bytes to "speed", and waits until the server has them; with the header of
// a relay's messages, or without.
int64_t libnats_publish(const char *url, long count, int size, int hasHeader);

// The time between the first message and the last, while another thread publishes to "speed".
int64_t libnats_receive(const char *url, long count, int size);

// Stores messages in the stream that has "stored", without waiting for each, and waits for all; with
// ids, by which the server knows doubles, or without.
int64_t libnats_store(const char *url, long count, int size, int hasIDs);

// Sends frames that were written before, of as many messages, to "speed", and waits until the server
// has them: what the fastest client could do. With the header of a relay's messages, or without.
int64_t prepared_publish(const char *url, long count, int size, int hasHeader);
