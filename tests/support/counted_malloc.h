// SPDX-License-Identifier: Apache-2.0
// Why: tests that prove that nothing is allocated see every allocation of the process: our code, the C++ library
// (operator new calls malloc) and all shared libraries. glibc keeps its own functions under internal names for such
// wrappers. Included once in a program, whose own note_allocation() counts; not in a sanitizer's build, which has its
// own malloc.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KINGLET_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KINGLET_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef KINGLET_COUNTS_ALLOCATIONS
#define KINGLET_COUNTS_ALLOCATIONS 1
#endif

namespace kinglet::testing {
void note_allocation();  // the program's; allocates nothing
}

#if KINGLET_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* malloc(std::size_t size) {
  kinglet::testing::note_allocation();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  kinglet::testing::note_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  kinglet::testing::note_allocation();
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  kinglet::testing::note_allocation();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? 12 : 0;  // ENOMEM
}
}
#endif
