// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <string>

#include "engine/base/check.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {
namespace {

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
  load({.settings = kinglet::config::SettingsText{.file = "settings.toml", .text = value}, .folder = "/nowhere"});
  load({.folder = "/nowhere", .assignments = {"decide.min_score=" + value, value}});
}

}  // namespace kinglet::fuzz
