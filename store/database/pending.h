// SPDX-License-Identifier: Apache-2.0
// Why: visits that are not on the disk yet, or cannot be: bounded memory between the pipeline, which never waits, and
// the writer, which may.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/mutex.h"
#include "store/database/shared_bytes.h"
#include "store/database/visit_row.h"

namespace kinglet::store {

// JPEG files, the clip as one multipart file of them. Empty: there is none.
struct Pictures {
  SharedBytes crop;
  SharedBytes frame;
  SharedBytes clip;

  [[nodiscard]] std::uint64_t total() const { return crop.size() + frame.size() + clip.size(); }
  [[nodiscard]] int count() const { return (crop.empty() ? 0 : 1) + (frame.empty() ? 0 : 1) + (clip.empty() ? 0 : 1); }
};

enum class Picture : std::uint8_t { kCrop, kFrame, kClip };
inline constexpr std::array kPictures{Picture::kCrop, Picture::kFrame, Picture::kClip};
[[nodiscard]] const SharedBytes& bytes_of(const Pictures& pictures, Picture kind);
[[nodiscard]] const std::optional<std::uint64_t>& size_of(const PictureSizes& sizes, Picture kind);

struct PendingVisit {
  VisitRow row;
  std::shared_ptr<const Pictures> pictures;  // not written yet; may be empty
  bool reviewed = false;                     // row.visit.review is newer than the disk's
  bool stored = false;                       // there is a row of it on the disk; if not any more, it was deleted
  std::uint64_t version = 0;                 // rises with each change of anything here
};

struct PendingLimits {
  std::size_t visits = 4096;
  std::uint64_t picture_bytes = 16U << 20;
};

// Thread-safe; nothing here touches a disk. Entries are never changed, only replaced, so that a copy of the pointers
// is a consistent picture.
class Pending {
 public:
  using Entry = std::shared_ptr<const PendingVisit>;

  explicit Pending(const PendingLimits& limits) : limits_(limits) {}

  // A visit of which there is a row on the disk already. Nothing happens when it is here.
  [[nodiscard]] std::uint64_t put_stored(VisitRow row);
  // The newest state of a visit. A review and pictures that are here already stay. Gives how many visits had to be
  // forgotten for it: ended ones without a review first, the oldest first.
  [[nodiscard]] std::uint64_t put(VisitRow row);
  // Gives how many pictures had to be forgotten: clips, then frames, then crops, the oldest first; they also count when
  // the visit is unknown.
  [[nodiscard]] std::uint64_t add_pictures(std::uint64_t seq, Pictures pictures);
  // Nothing happens when the visit is not here.
  void review(std::uint64_t seq, const visits::Review& review, std::uint64_t change);
  void remove(std::uint64_t seq);
  // Written with their pictures: ended visits leave unless they changed since. The pictures are no longer held.
  void written(const std::vector<Entry>& entries);
  // Their rows are on the disk, the pictures still wait.
  void rows_written(const std::vector<Entry>& entries);
  // There is another database now: each visit that waits is written into it as a new one.
  void forget_stored();
  // Each seq moves up by `offset` (the disk that came back has used these numbers).
  void renumber(std::uint64_t offset);

  [[nodiscard]] std::vector<Entry> all() const;
  // Those that the writer should write.
  [[nodiscard]] std::vector<Entry> ended() const;
  [[nodiscard]] Entry find(std::string_view id) const;
  // The answer of a prediction that waits with its visit.
  [[nodiscard]] std::optional<std::string> prediction(std::string_view id) const;
  [[nodiscard]] bool contains(std::uint64_t seq) const;
  [[nodiscard]] std::size_t size() const;
  // Of pictures that wait. Never waits.
  [[nodiscard]] std::uint64_t picture_bytes() const { return picture_bytes_; }

 private:
  void replace(std::uint64_t seq, const std::function<void(PendingVisit&)>& change) KINGLET_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t shrink_pictures() KINGLET_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t shrink_visits() KINGLET_REQUIRES(mutex_);

  const PendingLimits limits_;
  mutable Mutex mutex_;
  std::map<std::uint64_t, Entry> entries_ KINGLET_GUARDED_BY(mutex_);
  std::uint64_t version_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> picture_bytes_ = 0;  // written with the mutex
};

}  // namespace kinglet::store
