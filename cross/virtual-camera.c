// SPDX-License-Identifier: Apache-2.0
// Why: preloaded by cross/virtual-camera: a memfd in the place of each dma-buf, another virtual.yaml, and a camera that
// keeps a pace or hangs, or whose threads are woken late. For tests only; rests on how libcamera 0.4's virtual pipeline works.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The function of this name in the libraries after this one.
#define NEXT(name, type)                             \
  static __typeof__(type) next;                      \
  if (!next) {                                       \
    next = (__typeof__(type))dlsym(RTLD_NEXT, name); \
  }

static const char* setting(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

static const char* seen_path(const char* path) {
  const char* yaml = getenv("KINGLET_VIRTUAL_YAML");
  const int is_yaml = !strcmp(path, "/usr/share/libcamera/pipeline/virtual/virtual.yaml");
  return yaml && is_yaml ? yaml : path;
}

static void hang(unsigned seconds) {
  while (!seconds) pause();
  while (seconds) seconds = sleep(seconds);
}

static void keep_pace(double frames_per_second) {
  static struct timespec due;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  due.tv_nsec += (long)(1e9 / frames_per_second);
  due.tv_sec += due.tv_nsec / 1000000000;
  due.tv_nsec %= 1000000000;
  if (now.tv_sec > due.tv_sec || (now.tv_sec == due.tv_sec && now.tv_nsec > due.tv_nsec)) due = now;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {
  }
}

static void before_frame(void) {
  static unsigned long frames;
  const double frames_per_second = atof(setting("KINGLET_CAMERA_FPS"));
  const unsigned long stall = strtoul(setting("KINGLET_CAMERA_STALL"), NULL, 10);
  if (stall && frames++ == stall) {
    hang((unsigned)strtoul(setting("KINGLET_CAMERA_STALL_SECONDS"), NULL, 10));
  }
  if (frames_per_second > 0) keep_pace(frames_per_second);
}

// libcamera maps a buffer (a memfd sealed against shrinking) for writing once for each frame that it makes.
void* mmap64(void* addr, size_t length, int prot, int flags, int fd, off_t offset) {
  if (fd >= 0 && (prot & PROT_WRITE) && (flags & MAP_SHARED)) {
    const int saved = errno;
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals >= 0 && (seals & F_SEAL_SHRINK)) before_frame();
    errno = saved;
  }
  return (void*)syscall(SYS_mmap, addr, length, prot, flags, fd, offset);
}

#define OPEN(name)                                                                          \
  int name(const char* path, int flags, ...) {                                              \
    va_list list;                                                                           \
    va_start(list, flags);                                                                  \
    const mode_t mode = va_arg(list, mode_t);                                               \
    va_end(list);                                                                           \
    NEXT(#name, int (*)(const char*, int, mode_t));                                         \
    if (!strcmp(path, "/dev/udmabuf") && strcmp(setting("KINGLET_CAMERA_BUFFERS"), "no")) { \
      return memfd_create("udmabuf", MFD_CLOEXEC);                                          \
    }                                                                                       \
    return next(seen_path(path), flags, mode);                                              \
  }
OPEN(open)
OPEN(open64)

int stat(const char* restrict path, struct stat* restrict buf) {
  NEXT("stat", int (*)(const char*, struct stat*));
  return next(seen_path(path), buf);
}

int stat64(const char* restrict path, struct stat64* restrict buf) {
  NEXT("stat64", int (*)(const char*, struct stat64*));
  return next(seen_path(path), buf);
}

int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void* arg = va_arg(list, void*);
  va_end(list);
  NEXT("ioctl", int (*)(int, unsigned long, void*));
  if (request == UDMABUF_CREATE) return fcntl((int)((struct udmabuf_create*)arg)->memfd, F_DUPFD_CLOEXEC, 0);
  const int result = next(fd, request, arg);
  if (request == DMA_BUF_IOCTL_SYNC && result < 0 && errno == ENOTTY) return 0;
  return result;
}

// libcamera's threads wait here, and wake each other by a one written to an eventfd.
int ppoll(struct pollfd* files, nfds_t count, const struct timespec* timeout, const sigset_t* signals) {
  NEXT("ppoll", &ppoll)
  const struct timespec soon = {.tv_nsec = 1000000};
  return next(files, count, *setting("KINGLET_CAMERA_LATE_WAKES") ? &soon : timeout, signals);
}

ssize_t write(int fd, const void* data, size_t size) {
  NEXT("write", &write)
  const uint64_t wake = 1;
  if (size == sizeof(wake) && !memcmp(data, &wake, size) && *setting("KINGLET_CAMERA_LATE_WAKES")) usleep(50000);
  return next(fd, data, size);
}
