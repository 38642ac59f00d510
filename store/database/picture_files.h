// SPDX-License-Identifier: Apache-2.0
// Why: the pictures of visits as files, found by the visit's id alone: no name from outside ever becomes a path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "store/database/pending.h"

namespace kinglet::store {

// "vis_" and 26 letters of Crockford's base 32.
[[nodiscard]] bool is_visit_id(std::string_view id);

// FOLDER/pictures/X/vis_....crop.jpg, X the last letter of the id. Reentrant.
class PictureFiles {
 public:
  explicit PictureFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Where it is or would be. kNotFound: no id of a visit.
  [[nodiscard]] Result<std::filesystem::path> path_of(std::string_view id, Picture kind) const;
  // Those that are not empty, on the disk when it returns. kIo: the disk is full; none of them is left behind then.
  [[nodiscard]] Result<void> write(std::string_view id, const Pictures& pictures) const;
  // kNotFound: it was removed; kBadData: larger than any that is written.
  [[nodiscard]] Result<std::string> read(std::string_view id, Picture kind) const;
  // Of the file; nothing: it is not there.
  [[nodiscard]] std::optional<std::uint64_t> size(std::string_view id, Picture kind) const;
  // True: it is gone, or never was.
  [[nodiscard]] bool remove(std::string_view id, Picture kind) const;

  struct Found {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t strays = 0;     // pictures of visits that are not there, and halves of writes that were cut short
    std::uint64_t removed = 0;    // of these
    std::uint64_t foreign = 0;    // what bears no name of ours, or is no plain file: never touched
    bool through_a_link = false;  // "pictures" is a link to another place: nothing is removed there
  };
  // Looks at each file at the place that write() gives it, never through a link below "pictures"; `wanted` says whether
  // a visit has it. Strays are removed when asked to. Ends early when `wanted` fails. kIo: the folder cannot be read.
  using Wanted = std::function<Result<bool>(std::string_view id, Picture kind)>;
  [[nodiscard]] Result<Found> sweep(const Wanted& wanted, bool remove_strays) const;
  // Is there any file that bears the name of a picture of ours?
  [[nodiscard]] bool any() const;

 private:
  [[nodiscard]] Result<void> write_all(std::string_view id, const Pictures& pictures) const;

  std::filesystem::path folder_;
};

}  // namespace kinglet::store
