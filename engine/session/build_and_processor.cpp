// SPDX-License-Identifier: Apache-2.0
#include "engine/session/build_and_processor.h"

#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <span>

#include "engine/base/format.h"
#include "engine/session/model.h"

namespace kinglet::engine {
namespace {

// Of one of an object's tables of notes, as the linker wrote it.
std::optional<std::string> build_id_in(const std::byte* at, std::size_t bytes, std::size_t alignment) {
  const auto aligned = [&](std::size_t size) { return (size + alignment - 1) / alignment * alignment; };
  for (ElfW(Nhdr) note{}; bytes >= sizeof note;) {
    std::memcpy(&note, at, sizeof note);
    const std::size_t begin = aligned(sizeof note + note.n_namesz);
    const std::size_t end = aligned(begin + note.n_descsz);
    if (end > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(at + sizeof note, "GNU", 4) == 0) {
      std::string text;
      for (std::size_t i = 0; i < note.n_descsz; ++i)
        text += format_text("{:02x}", std::to_integer<int>(at[begin + i]));
      return text;
    }
    at += end;
    bytes -= end;
  }
  return std::nullopt;
}

// Of what is mapped: its file may have been replaced since.
std::optional<std::string> build_id_of(const dl_phdr_info& object) {
  for (const auto& header : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (header.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const std::byte*>(object.dlpi_addr + header.p_vaddr);  // NOLINT: of the linker
    if (auto id = build_id_in(notes, header.p_memsz, header.p_align == 8 ? 8 : 4)) return id;
  }
  return std::nullopt;
}

int add_object(dl_phdr_info* object, std::size_t /*size*/, void* text) {
  const bool is_program = object->dlpi_name == nullptr || *object->dlpi_name == '\0';
  const std::string name = is_program ? "/proc/self/exe" : object->dlpi_name;
  if (!name.contains('/')) return 0;  // the kernel's
  *static_cast<std::string*>(text) += name + " " + build_id_of(*object).value_or(stamp_of_file(name)) + "\n";
  return 0;
}

std::string describe_build_and_processor() {
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

}  // namespace

std::string stamp_of_file(const std::filesystem::path& path) {
  struct stat status{};
  if (path.empty() || stat(path.c_str(), &status) != 0) return "-";
  return format_text("{}:{}:{}.{}:{}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                     status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

const std::string& build_and_processor() {
  static const std::string kText = describe_build_and_processor();
  return kText;
}

}  // namespace kinglet::engine
