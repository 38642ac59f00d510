// SPDX-License-Identifier: Apache-2.0
#include "engine/session/build_and_processor.h"

#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

#include "engine/base/format.h"
#include "engine/session/model.h"

namespace kinglet::engine {
namespace {

int add_object(dl_phdr_info* object, std::size_t /*size*/, void* text) {
  const std::string name = object->dlpi_name == nullptr || *object->dlpi_name == '\0' ? "/proc/self/exe"  // itself
                                                                                      : object->dlpi_name;
  *static_cast<std::string*>(text) += name + " " + stamp_of_file(name) + "\n";
  return 0;
}

}  // namespace

std::string stamp_of_file(const std::filesystem::path& path) {
  struct stat status{};
  if (path.empty() || stat(path.c_str(), &status) != 0) return "-";
  return format_text("{}:{}:{}.{}:{}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                     status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

std::string build_and_processor() {
  std::string text;
  dl_iterate_phdr(add_object, &text);
  // Words of Linux for what a processor is and can do, on x86 and ARM. Cores may differ.
  constexpr std::array kTelling{"vendor_id", "cpu family",       "model",       "stepping", "flags",       "Features",
                                "CPU impl",  "CPU architecture", "CPU variant", "CPU part", "CPU revision"};
  std::set<std::string> lines;
  std::ifstream processor("/proc/cpuinfo");
  for (std::string line; std::getline(processor, line);) {
    if (std::ranges::any_of(kTelling, [&](const char* word) { return line.starts_with(word); })) lines.insert(line);
  }
  for (const std::string& line : lines) text += line + "\n";
  return text_digest(text);
}

}  // namespace kinglet::engine
