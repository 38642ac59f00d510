// SPDX-License-Identifier: Apache-2.0
// Why: a history that goes to another card, and one that came from there: a copy of one moment while the daemon goes on
// writing, and the judgement of what somebody else's file says it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "store/database/picture_files.h"
#include "store/database/sqlite.h"

namespace kinglet::store {

// One connection of its own; the file of the copy has no name any more and goes with this. Thread-bound.
class HistoryCopy {
 public:
  // As the database of `folder` is now, without what was freed in it. Room is looked for first. kIo: there is none;
  // kUnavailable: `stop` said so; else as opening it.
  [[nodiscard]] static Result<HistoryCopy> make(const std::filesystem::path& folder, const std::function<bool()>& stop);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // The database, once.
  [[nodiscard]] InputFile take_file() { return std::move(file_); }
  [[nodiscard]] std::int64_t version() const { return version_; }
  [[nodiscard]] std::uint64_t visits() const { return visits_; }
  // Of all that its rows tell of.
  [[nodiscard]] std::uint64_t picture_bytes() const { return picture_bytes_; }

  struct PictureFile {
    std::filesystem::path path;
    std::string name;  // below the folder: "pictures/4/vis_....crop.jpg"
  };
  // One after the other; nothing: that was all. Whether the file is still there is not asked.
  [[nodiscard]] Result<std::optional<PictureFile>> next_picture();

 private:
  HistoryCopy(Database database, InputFile file, const std::filesystem::path& folder)
      : database_(std::move(database)), file_(std::move(file)), size_(file_.size()), folder_(folder), files_(folder) {}
  [[nodiscard]] Result<void> read_more();

  Database database_;
  InputFile file_;
  std::uint64_t size_;
  std::filesystem::path folder_;
  PictureFiles files_;
  std::int64_t version_ = 0;
  std::uint64_t visits_ = 0;
  std::uint64_t picture_bytes_ = 0;
  std::uint64_t last_ = 0;  // number of the visit that was read last
  std::vector<PictureFile> pictures_;
};

// Is this the name, below the folder of a history, of a picture that PictureFiles would write?
[[nodiscard]] bool is_picture_name(std::string_view name);

struct ForeignHistory {
  std::int64_t version = 0;
  std::uint64_t visits = 0;
};
// What lies in `folder` came from somewhere else: the tables are exactly ours of some version up to the newest, the
// file is sound, ids are ids. kUnsupported: it is of a newer version; kBadData: anything else.
[[nodiscard]] Result<ForeignHistory> judge_history(const std::filesystem::path& folder,
                                                   const std::function<bool()>& stop);
// Rows tell of the pictures that are there, and numbers go on behind those that were used. Gives how many pictures were
// told of and are not there.
[[nodiscard]] Result<std::uint64_t> fit_history(const std::filesystem::path& folder);

}  // namespace kinglet::store
