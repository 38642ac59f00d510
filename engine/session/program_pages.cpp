// SPDX-License-Identifier: Apache-2.0
#include "engine/session/program_pages.h"

#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/base/file.h"

namespace kinglet::engine {
namespace {

// Of an entry of pagemap, as Documentation/admin-guide/mm/pagemap.rst of Linux has them.
constexpr std::uint64_t kPresent = 1ULL << 63;
constexpr std::uint64_t kSwapped = 1ULL << 62;
constexpr std::uint64_t kOfFile = 1ULL << 61;

struct Pages {
  int pagemap;
  std::uintptr_t bytes;  // of one
  std::size_t let_go = 0;
};

// What lies there can be had again from the file: none of its pages is a copy of our own.
bool is_as_in_file(const Pages& pages, std::uintptr_t begin, std::uintptr_t end) {
  std::vector<std::uint64_t> entries((end - begin) / pages.bytes);
  const std::size_t size = entries.size() * sizeof(std::uint64_t);
  const auto offset = static_cast<off_t>(begin / pages.bytes * sizeof(std::uint64_t));
  if (pread(pages.pagemap, entries.data(), size, offset) != static_cast<ssize_t>(size)) return false;
  return std::ranges::none_of(entries, [](std::uint64_t entry) {
    return (entry & kSwapped) != 0 || ((entry & kPresent) != 0 && (entry & kOfFile) == 0);
  });
}

// The dynamic linker holds its lock meanwhile, so that no library goes and nothing else takes its place.
int let_go_of_library(dl_phdr_info* library, std::size_t /*size*/, void* data) {
  auto& pages = *static_cast<Pages*>(data);
  if (library->dlpi_addr == getauxval(AT_SYSINFO_EHDR)) return 0;  // the kernel's own, of no file
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t at = library->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t begin = at / pages.bytes * pages.bytes;
    const std::uintptr_t end = (at + segment.p_memsz + pages.bytes - 1) / pages.bytes * pages.bytes;
    if (!is_as_in_file(pages, begin, end)) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ELF has numbers
    if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0) pages.let_go += end - begin;
  }
  return 0;
}

}  // namespace

std::size_t let_go_of_program_pages() {
  const FileDescriptor pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap.valid()) return 0;
  Pages pages{.pagemap = pagemap.get(), .bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE))};
  dl_iterate_phdr(let_go_of_library, &pages);
  return pages.let_go;
}

}  // namespace kinglet::engine
