// SPDX-License-Identifier: Apache-2.0
// Why: most of a damaged database can still be read, page by page. What is sound goes into the new one, in slices
// between other work, and goes on after a restart: how far it is stands in the new database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/database/picture_files.h"
#include "store/database/sqlite.h"
#include "store/database/visit_row.h"

namespace kinglet::store {

struct Salvaged {
  std::uint64_t visits = 0;
  std::uint64_t reviewed = 0;  // of these
  std::uint64_t counts = 0;    // of species, days and hours whose visits were not kept
  std::uint64_t spans = 0;     // of throughput
  std::uint64_t gaps = 0;      // places that cannot be read
};

// What can be seen in this file of the numbers that were given; 0: nothing.
struct LastNumbers {
  std::uint64_t seq = 0;
  std::uint64_t id_ms = 0;  // time part of the newest id
};
[[nodiscard]] LastNumbers last_numbers(const std::filesystem::path& file);

// Thread-bound, like the database it fills.
class Salvage {
 public:
  // Remembers in `into` that this file of its folder is to be salvaged.
  [[nodiscard]] static Result<void> order(Database& into, std::string_view file);
  // What was ordered and is not finished. `highest`: no visit has a higher number.
  [[nodiscard]] static Result<std::optional<Salvage>> find(Database& into, const std::filesystem::path& folder,
                                                           std::uint64_t highest);

  // Goes on until `pause` asks for it, at least one step. True: it is finished. An error is one of `into`; what cannot
  // be read is counted. Rows get a new `change` each.
  [[nodiscard]] Result<bool> go_on(Database& into, const PictureFiles& files,
                                   const std::function<std::uint64_t()>& next_change,
                                   const std::function<bool()>& pause);
  [[nodiscard]] const Salvaged& result() const { return result_; }
  [[nodiscard]] const std::string& file() const { return name_; }
  [[nodiscard]] bool is_readable() const { return readable_; }

 private:
  Salvage(std::string name, std::optional<Database> from, std::uint64_t next, std::uint64_t highest)
      : name_(std::move(name)), from_(std::move(from)), readable_(from_), next_(next), highest_(highest) {}
  // Sound visits from next_ on; moves it behind them.
  [[nodiscard]] std::vector<VisitRow> read_some(const std::function<bool()>& pause);
  [[nodiscard]] Result<void> finish(Database& into);

  std::string name_;
  std::optional<Database> from_;  // empty: nothing of it can be read
  bool readable_;
  std::uint64_t next_;  // number of the visit to look for next
  std::uint64_t highest_;
  bool in_gap_ = false;
  Salvaged result_;
};

}  // namespace kinglet::store
