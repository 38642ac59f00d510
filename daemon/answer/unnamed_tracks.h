// SPDX-License-Identifier: Apache-2.0
// Why: what was seen and not named is silence unless it is shown: why there is no name, the best picture, and what
// would have been said. In memory only, bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/frame/frame_copies.h"
#include "daemon/capture/people/people.h"
#include "daemon/line/prediction.h"
#include "daemon/line/regions/tracks.h"
#include "engine/base/mutex.h"
#include "visits/visit.h"

namespace kinglet::daemon {

struct UnnamedTrack {
  std::string id;         // "trk_" and a ULID
  std::uint64_t seq = 0;  // rises with each that ends, in this process
  // The visit that it would be if somebody named it: ended, with the id that it would have, and no number. Its species
  // is the likeliest bird, empty where there is none.
  visits::Visit visit;
  Outcome outcome = Outcome::kNonFinite;  // why it has no name
  double wanted_score = 0;                // what the likeliest bird's score would have had to reach
  std::optional<Being> being;             // what a detector mostly says of it, as
  std::string being_label;                // its class; nobody: empty
  std::uint32_t looks = 0;
  ProposedBy by = ProposedBy::kWhole;
  // JPEG of the best look, with people hidden. Empty: there is none, or a look may still find somebody in it.
  std::string crop;
  struct Unseen {
    std::string jpeg;
    Area part;  // of the frame
    SteadyTime exposed_at{};
    std::shared_ptr<const People> people;
  };
  std::shared_ptr<const Unseen> unseen = {};  // until no look can say any more what of it becomes the crop

  [[nodiscard]] bool has_picture() const { return unseen || !crop.empty(); }
  // It as far as people in it are known by now: for who cannot wait for the crop. Decodes. Empty: it cannot be read.
  [[nodiscard]] std::string picture() const;
};

// Thread-safe; look() and ended() belong to the answer thread.
class UnnamedTracks {
 public:
  static constexpr std::size_t kMost = 64;  // with some 15 KB of JPEG each

  // So many cameras have tracks of their own.
  explicit UnnamedTracks(std::size_t cameras = 1) : cameras_(cameras) {}

  // A frame with the best looks so far at tracks without a name, and who is hidden of its camera, which may be absent.
  // Allocates nothing from one look at a track to its next of the same size.
  void look(const camera::Frame& frame, const Prediction& prediction, const std::shared_ptr<const People>& people = {});
  // It is kept unless it was named, or is a place at which nobody was. `rule` is that by which it was judged;
  // `detector_labels` are those of the opinions on it.
  void ended(const Track& track, const visits::Rule& rule, std::string source, std::string model_name,
             std::string model_digest, const engine::Labels* detector_labels = nullptr);

  using Shared = std::shared_ptr<const UnnamedTrack>;
  // Newest first, at most `limit`.
  [[nodiscard]] std::vector<Shared> list(std::size_t limit, const std::function<bool(const UnnamedTrack&)>& matches);
  [[nodiscard]] Shared find(std::string_view id);  // nullptr: there is none
  // The same, and it is no longer listed: who got it may name it, or give it back.
  [[nodiscard]] Shared take(std::string_view id);
  void give_back(const Shared& track);

 private:
  struct Look {
    Ulid track;
    std::vector<std::byte> bytes;
    camera::FrameCopies::Share jpeg;  // of such a frame, one for all who are in it
    camera::FrameView view;           // into bytes or jpeg
    CropRect crop;                    // in the view
    Area part;                        // of the frame, that is the crop
    SteadyTime exposed_at{};
    std::shared_ptr<const People> people;
  };
  [[nodiscard]] std::string crop_of(const Look& look);
  void forget_decoded();
  void keep(Shared unnamed);
  void show_crops() KINGLET_REQUIRES(mutex_);
  [[nodiscard]] std::deque<Shared>::iterator place_of(std::string_view id) KINGLET_REQUIRES(mutex_);
  [[nodiscard]] Look& look_of(const Ulid& track);
  [[nodiscard]] std::optional<Look> take_look(const Ulid& track);

  const std::size_t cameras_;
  // Of the answer thread.
  std::vector<Look> looks_;  // the tracks that are followed
  const std::shared_ptr<camera::FrameCopies> copies_ = camera::FrameCopies::make();
  camera::FrameCopies::Share decoded_from_;  // one JPEG at a time, as long as other tracks are in it
  camera::Image decoded_;
  std::uint64_t newest_seq_ = 0;
  Mutex mutex_;
  std::deque<Shared> tracks_ KINGLET_GUARDED_BY(mutex_);  // the newest in front
};

}  // namespace kinglet::daemon
