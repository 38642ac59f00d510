// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "engine/base/check.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {
namespace {

// A file without a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : descriptor_(::memfd_create("config", 0)) {
    KINGLET_CHECK(descriptor_ >= 0);
    KINGLET_CHECK(::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void load(const kinglet::config::LoadOptions& options) {
  const auto loaded = kinglet::config::load(options);
  if (loaded) {
    static_cast<void>(kinglet::config::show(*loaded));
  } else {
    KINGLET_CHECK(!loaded.error().empty());
    static_cast<void>(kinglet::config::report("fuzz", loaded.error()));
  }
}

}  // namespace

void config(std::span<const std::byte> bytes) {
  const MemoryFile file(bytes);
  load({.file = file.path()});
  const std::string value(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  load({.folder = "/nowhere", .assignments = {"decide.min_score=" + value, value}});
}

}  // namespace kinglet::fuzz
