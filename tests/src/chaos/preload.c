/* Faults that only a library inside the host's process can make: a real-time clock that is off, and a full disk.
 *
 * CHAOS_CONTROL names a file of two little-endian 64-bit numbers, mapped for as long as the process lives: by how many
 * milliseconds the clock is off, and whether writes to files below CHAOS_DATA fail with ENOSPC. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *control;
static const char *data;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("CHAOS_CONTROL");
  data = getenv("CHAOS_DATA");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) {
    fprintf(stderr, "chaos: CHAOS_CONTROL names no file that can be read\n");
    abort();
  }
  void *mapped = mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) abort();
  close(file);
  control = mapped;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int64_t offset_ms(void) { return control ? control[0] : 0; }

/* Whether a write to this file must fail now. */
static int full(int file) {
  if (!control || !control[1] || !data) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, data, strlen(data)) == 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static __typeof__(&clock_gettime) next;
  if (!next) next = NEXT(clock_gettime);
  int answer = next(clock, now);
  if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t off = offset_ms(), nanos = now->tv_nsec + off % 1000 * 1000000;
    now->tv_sec += off / 1000;
    if (nanos < 0) { nanos += 1000000000; now->tv_sec -= 1; }
    if (nanos >= 1000000000) { nanos -= 1000000000; now->tv_sec += 1; }
    now->tv_nsec = nanos;
  }
  return answer;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

#define REFUSING(type, name, parameters, arguments)   \
  type name parameters {                              \
    static __typeof__(&name) next;                    \
    if (!next) next = NEXT(name);                     \
    if (full(file)) { errno = ENOSPC; return -1; }    \
    return next arguments;                            \
  }

REFUSING(ssize_t, write, (int file, const void *bytes, size_t length), (file, bytes, length))
REFUSING(ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count))
REFUSING(ssize_t, pwrite, (int file, const void *bytes, size_t length, off_t at), (file, bytes, length, at))
REFUSING(ssize_t, pwrite64, (int file, const void *bytes, size_t length, off64_t at), (file, bytes, length, at))
REFUSING(int, ftruncate, (int file, off_t length), (file, length))
REFUSING(int, ftruncate64, (int file, off64_t length), (file, length))

/* This one answers the error itself. */
int posix_fallocate(int file, off_t at, off_t length) {
  static __typeof__(&posix_fallocate) next;
  if (!next) next = NEXT(posix_fallocate);
  return full(file) ? ENOSPC : next(file, at, length);
}
