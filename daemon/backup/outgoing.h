// SPDX-License-Identifier: Apache-2.0
// Why: a box as a stream of bytes, made while it works: the same for `kinglet backup` and GET /api/v1/backup.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/backup/digest.h"
#include "daemon/backup/parts.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "store/history_copy.h"

namespace kinglet::daemon::backup {

struct Carried {
  std::uint64_t visits = 0;
  std::uint64_t pictures = 0;
  std::uint64_t models = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;            // of the archive
  std::vector<std::string> left_out;  // what could not be carried
};

// Thread-bound.
class Outgoing {
 public:
  // Copies the history first, which `stop` ends early. No history yet is fine. As store::HistoryCopy::make().
  [[nodiscard]] static Result<Outgoing> begin(Places places, Carry carry, WallTime now,
                                              const std::function<bool()>& stop);

  // The next bytes, never many. False: these were the last. kIo: a file cannot be read to its end.
  [[nodiscard]] Result<bool> next(std::string& piece);
  [[nodiscard]] const Carried& carried() const { return carried_; }
  // Before the first byte: about how many there will be.
  [[nodiscard]] std::uint64_t expected_bytes() const { return expected_; }

 private:
  enum class Stage : std::uint8_t { kBegin, kHistory, kFiles, kVisits, kClose, kOver };
  struct Reading {
    InputFile file;
    std::uint64_t offset = 0;
  };
  Outgoing(Places places, Carry carry, WallTime now) : places_(std::move(places)), carry_(carry), now_(now) {}
  [[nodiscard]] Result<std::string> open_next();
  [[nodiscard]] Result<std::string> open_file(InputFile file, const std::string& name, unsigned mode);
  [[nodiscard]] std::string note(std::string_view name, const std::string& json) const;
  [[nodiscard]] std::string manifest() const;

  Places places_;
  Carry carry_;
  WallTime now_;
  std::optional<store::HistoryCopy> history_;
  std::vector<PartFile> files_;
  std::size_t next_file_ = 0;
  std::uint64_t expected_ = 0;
  Stage stage_ = Stage::kBegin;
  std::optional<Reading> reading_;
  Digest digest_;
  Carried carried_;
};

}  // namespace kinglet::daemon::backup
