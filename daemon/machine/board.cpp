// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/board.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "engine/base/numbers.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

// First line without trailing blanks and NUL (device-tree files end in one); nothing when unreadable or empty.
std::optional<std::string> first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  while (!line.empty() && (line.back() == '\0' || line.back() == ' ' || line.back() == '\r')) line.pop_back();
  if (line.empty()) return std::nullopt;
  return line;
}

template <typename T>
std::optional<T> number(std::optional<std::string> text, int base = 10) {
  return text ? parse_number<T>(*text, base) : std::nullopt;
}

void read_memory(const fs::path& root, BoardFacts& facts) {
  std::ifstream status(root / "proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kilobytes = 0;
    if (!(words >> name >> kilobytes)) continue;
    if (name == "VmRSS:") facts.resident_bytes = kilobytes * 1024;
    if (name == "VmHWM:") facts.peak_bytes = kilobytes * 1024;
  }
}

// Fields 14 and 15 of /proc/self/stat (proc(5)), counted after the command name, which may hold blanks.
std::optional<double> cpu_seconds(const fs::path& root) {
  const std::optional<std::string> line = first_line(root / "proc/self/stat");
  const std::size_t name_end = line ? line->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream words(line->substr(name_end + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) words >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  if (!(words >> user >> system)) return std::nullopt;
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::optional<std::uint64_t> open_files(const fs::path& root) {
  std::error_code error;
  const fs::directory_iterator entries(root / "proc/self/fd", error);
  if (error) return std::nullopt;
  return static_cast<std::uint64_t>(std::distance(fs::begin(entries), fs::end(entries)));
}

}  // namespace

std::optional<double> read_temperature(const fs::path& root) {
  const auto milli = number<std::int64_t>(first_line(root / "sys/class/thermal/thermal_zone0/temp"));
  if (!milli) return std::nullopt;
  return static_cast<double>(*milli) / 1000.0;
}

Throttling parse_throttled(std::uint32_t word) {
  constexpr std::array<std::string_view, 4> kNames{"under_voltage", "frequency_capped", "throttled",
                                                   "soft_temperature_limit"};
  Throttling throttling;
  for (std::size_t bit = 0; bit < kNames.size(); ++bit) {
    if ((word >> bit) & 1) throttling.now.emplace_back(kNames[bit]);
    if ((word >> (bit + 16)) & 1) throttling.since_boot.emplace_back(kNames[bit]);
  }
  return throttling;
}

BoardFacts read_board(const fs::path& root) {
  BoardFacts facts;
  facts.model = first_line(root / "proc/device-tree/model");
  facts.temperature_celsius = read_temperature(root);
  if (const auto khz =
          number<std::uint64_t>(first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"))) {
    facts.cpu_hz = *khz * 1000;
  }
  const auto throttled =
      number<std::uint32_t>(first_line(root / "sys/devices/platform/soc/soc:firmware/get_throttled"), 16);
  if (throttled) facts.throttling = parse_throttled(*throttled);
  read_memory(root, facts);
  facts.cpu_seconds = cpu_seconds(root);
  facts.open_files = open_files(root);
  return facts;
}

BoardFacts RecentBoard::get(SteadyTime now) {
  constexpr std::chrono::seconds kFresh{1};
  MutexLock lock(mutex_);
  if (!read_at_ || now - *read_at_ >= kFresh) {
    facts_ = read_board(root_);
    read_at_ = now;
  }
  return facts_;
}

}  // namespace kinglet::daemon
