// SPDX-License-Identifier: MIT
// For LD_PRELOAD: makes one call on a file fail, or kills the process there. Counts write, fsync, rename, and close of files open for
// writing, on files and folders whose path contains FAULT_UNDER.
//   FAULT_TRACE=FILE   each counted call becomes a line "call path" of FILE
//   FAULT_AT=N         the N-th of them, from 1, is disturbed:
//   FAULT_HOW=5        (a number) it fails with this errno
//   FAULT_HOW=before | half | after   SIGKILL before the call, after half of its bytes, after the call
//   FAULT_HOW=short    without FAULT_AT: every other write is interrupted, the others write half of their bytes
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum outcome { go_on, fail, half, kill_after };

static void next(void *function, const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  memcpy(function, &found, sizeof found);
}

static enum outcome count(const char *call, const char *path) {
  static long number = 0;
  const char *under = getenv("FAULT_UNDER"), *trace = getenv("FAULT_TRACE"), *at = getenv("FAULT_AT"), *how = getenv("FAULT_HOW");
  if (under == NULL || strstr(path, under) == NULL) return go_on;
  ++number;
  if (trace != NULL) {
    FILE *file = fopen(trace, "a");
    fprintf(file, "%s %s\n", call, path);
    fclose(file);
  }
  if (how == NULL) return go_on;
  if (strcmp(how, "short") == 0) {
    errno = EINTR;
    return strcmp(call, "write") != 0 ? go_on : number % 2 == 0 ? fail : half;
  }
  if (at == NULL || number != atol(at)) return go_on;
  if (strcmp(how, "before") == 0) raise(SIGKILL);
  if (strcmp(how, "half") == 0) return half;
  if (strcmp(how, "after") == 0) return kill_after;
  errno = atoi(how);
  return fail;
}

static enum outcome count_descriptor(const char *call, int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return go_on;
  path[length] = '\0';
  return count(call, path);
}

ssize_t write(int fd, const void *bytes, size_t size) {
  static ssize_t (*real)(int, const void *, size_t);
  if (real == NULL) next(&real, "write");
  const enum outcome o = count_descriptor("write", fd);
  if (o == fail) return -1;
  const ssize_t done = real(fd, bytes, o == half && size > 1 ? size / 2 : size);
  if (o == kill_after || (o == half && getenv("FAULT_AT") != NULL)) raise(SIGKILL);
  return done;
}

ssize_t writev(int fd, const struct iovec *parts, int parts_size) {  // used by streams; a short write may write only the first part
  for (int i = 0; i < parts_size; ++i)
    if (parts[i].iov_len > 0) return write(fd, parts[i].iov_base, parts[i].iov_len);
  return 0;
}

int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) next(&real, "fsync");
  const enum outcome o = count_descriptor("fsync", fd);
  if (o == fail) return -1;
  const int done = real(fd);
  if (o != go_on) raise(SIGKILL);
  return done;
}

int rename(const char *from, const char *to) {
  static int (*real)(const char *, const char *);
  if (real == NULL) next(&real, "rename");
  const enum outcome o = count("rename", to);
  if (o == fail) return -1;
  const int done = real(from, to);
  if (o != go_on) raise(SIGKILL);
  return done;
}

int close(int fd) {
  static int (*real)(int);
  if (real == NULL) next(&real, "close");
  const int writing = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
  const enum outcome o = writing ? count_descriptor("close", fd) : go_on;
  const int error = errno, done = real(fd);  // on Linux the descriptor is closed even if close() fails
  if (o == fail) {
    errno = error;
    return -1;
  }
  if (o != go_on) raise(SIGKILL);
  return done;
}
