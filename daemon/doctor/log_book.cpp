// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/log_book.h"

#include <algorithm>
#include <array>

namespace kinglet::daemon {
namespace {

constexpr std::array<std::string_view, 4> kNames{"debug", "info", "warning", "error"};

LogLevel level_of(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  return found == kNames.end() ? LogLevel::kInfo : static_cast<LogLevel>(found - kNames.begin());
}

}  // namespace

std::string_view to_string(LogLevel level) { return kNames.at(static_cast<std::size_t>(level)); }

LogBook::LogBook(std::string_view level) : least_(level_of(level)) {}

void LogBook::set_level(std::string_view level) { least_ = level_of(level); }

void LogBook::add(LogLevel level, std::string_view text) {
  if (!wants(level)) return;
  MutexLock lock(mutex_);
  records_.push_back(
      {.seq = ++seq_, .at = std::chrono::system_clock::now(), .level = level, .text = std::string(text)});
  if (records_.size() > kKept) records_.pop_front();
}

std::vector<LogBook::Record> LogBook::since(WallTime since) const {
  std::vector<Record> found;
  MutexLock lock(mutex_);
  std::ranges::copy_if(records_, std::back_inserter(found), [&](const Record& record) { return record.at >= since; });
  return found;
}

}  // namespace kinglet::daemon
