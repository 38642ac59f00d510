// SPDX-License-Identifier: Apache-2.0
// Why: replaces malloc's family in the executable, so that every allocation of the process is counted: our code, the
// C++ library (operator new calls malloc) and all shared libraries. glibc documents this ("Replacing malloc"); the
// work is done by its own functions under their internal names. Not linked into libraries or tests.
#include <cerrno>
#include <cstddef>

#include "cli/allocation_count.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KINGLET_OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KINGLET_OWN_MALLOC 0
#endif
#endif
#ifndef KINGLET_OWN_MALLOC
#define KINGLET_OWN_MALLOC 1
#endif

#if KINGLET_OWN_MALLOC
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's own names
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(std::size_t size) {
  kinglet::cli::internal::count_allocation(size);
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  kinglet::cli::internal::count_allocation(count * size);
  return __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) {
  kinglet::cli::internal::count_allocation(size);
  return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  kinglet::cli::internal::count_allocation(size);
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* made = memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

void free(void* memory) { __libc_free(memory); }
}  // extern "C"

namespace {
[[maybe_unused]] const bool kAnnounced = [] {
  kinglet::cli::internal::enable_allocation_count();
  return true;
}();
}  // namespace
#endif
