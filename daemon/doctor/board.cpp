// SPDX-License-Identifier: Apache-2.0
// Why: memory, power and clock of the board.
#include "daemon/machine/board.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "daemon/doctor/doctor.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMebibyte = 1ULL << 20;
constexpr std::uint64_t kLittleMemory = 64 * kMebibyte;
constexpr std::uint64_t kLittleCma = 16 * kMebibyte;
constexpr double kHot = 80;

std::map<std::string, std::uint64_t> memory_of(const fs::path& root) {
  std::map<std::string, std::uint64_t> bytes;
  std::ifstream file(root / "proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kilobytes = 0;
    if (words >> name >> kilobytes && name.ends_with(':')) bytes[name.substr(0, name.size() - 1)] = kilobytes * 1024;
  }
  return bytes;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

Finding look_at_memory(const DoctorInput& input) {
  Finding finding;
  const std::map<std::string, std::uint64_t> memory = memory_of(input.root);
  for (const auto& [key, name] : {std::pair{"MemTotal", "total_bytes"}, std::pair{"MemAvailable", "available_bytes"},
                                  std::pair{"SwapTotal", "swap_bytes"}, std::pair{"CmaTotal", "cma_total_bytes"},
                                  std::pair{"CmaFree", "cma_free_bytes"}}) {
    if (const auto found = memory.find(key); found != memory.end()) finding.facts.emplace_back(name, found->second);
  }
  const auto total = memory.find("MemTotal");
  const auto available = memory.find("MemAvailable");
  if (total == memory.end() || available == memory.end()) {
    finding.status = CheckStatus::kWarn;
    finding.detail = "the system does not say how much memory there is";
    return finding;
  }
  finding.detail = format_text("{} of {} are free", rounded_bytes(available->second), rounded_bytes(total->second));
  if (available->second < kLittleMemory) {
    finding.status = CheckStatus::kWarn;
    finding.hint = "end other programs, or take a smaller model; without memory the system ends kingletd";
    return finding;
  }
  // Cameras take their buffers from this part alone.
  const auto cma = memory.find("CmaTotal");
  const auto cma_free = memory.find("CmaFree");
  if (cma != memory.end() && cma->second > 0 && cma_free != memory.end() && cma_free->second < kLittleCma) {
    finding.status = CheckStatus::kWarn;
    finding.detail +=
        format_text("; for cameras {} of {}", rounded_bytes(cma_free->second), rounded_bytes(cma->second));
    finding.hint = "a smaller source.size, or more of it: dtoverlay=vc4-kms-v3d,cma-256 in /boot/firmware/config.txt";
  }
  return finding;
}

Finding look_at_power(const DoctorInput& input) {
  Finding finding;
  const BoardFacts board = read_board(input.root);
  if (board.model) finding.facts.emplace_back("board", *board.model);
  if (board.temperature_celsius) finding.facts.emplace_back("temperature_celsius", *board.temperature_celsius);
  if (!board.throttling && !board.temperature_celsius) {
    finding.detail = "this board says nothing of its power";
    return finding;
  }
  finding.detail = board.temperature_celsius ? format_text("{:.0f} °C", *board.temperature_celsius) : "good";
  if (board.throttling) {
    finding.facts.emplace_back("throttling_now", board.throttling->now);
    finding.facts.emplace_back("throttling_since_boot", board.throttling->since_boot);
  }
  const auto under = [](const std::vector<std::string>& names) {
    return std::ranges::contains(names, "under_voltage");
  };
  if (board.throttling && !board.throttling->now.empty()) {
    finding.status = under(board.throttling->now) ? CheckStatus::kFail : CheckStatus::kWarn;
    finding.detail = joined(board.throttling->now) + " now, " + finding.detail;
    finding.hint = under(board.throttling->now) ? "the supply is too weak: take the board's own one and a short cable"
                                                : "a heat sink, a fan or shade; gate.hot makes it look less often";
  } else if (board.throttling && !board.throttling->since_boot.empty()) {
    finding.status = CheckStatus::kWarn;
    finding.detail = joined(board.throttling->since_boot) + " since the start, " + finding.detail;
    finding.hint = under(board.throttling->since_boot) ? "the supply was too weak: take the board's own one"
                                                       : "a heat sink, a fan or shade";
  } else if (board.temperature_celsius.value_or(0) >= kHot) {
    finding.status = CheckStatus::kWarn;
    finding.hint = "a heat sink, a fan or shade";
  }
  return finding;
}

Finding look_at_clock(const DoctorInput& input) {
  Finding finding;
  finding.detail = to_rfc3339(std::chrono::system_clock::now());
  finding.facts.emplace_back("synced", input.clock_synced);
  if (!input.clock_synced) {
    finding.status = CheckStatus::kWarn;
    finding.detail += ", but nobody has set it";
    finding.hint = "timedatectl shows why; without it days and seasons of visits are wrong";
  }
  return finding;
}

}  // namespace kinglet::daemon
