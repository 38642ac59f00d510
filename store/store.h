// SPDX-License-Identifier: Apache-2.0
// Why: the history of visits as the rest of the program sees it. Giving a visit never waits for a disk and never fails:
// whatever the disk does, the newest visits stay in memory, and it is said why they wait.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/base/mutex.h"
#include "store/database/queries.h"
#include "store/options.h"
#include "store/shared.h"
#include "store/writer.h"
#include "visits/book.h"

namespace kinglet::store {

// What became of a change that a person wished. kStale: the visit is not as that person saw it.
enum class Changing : std::uint8_t { kDone, kNotFound, kStale };

// As the API asks for it.
[[nodiscard]] visits::BookedVisit booked(VisitView view);

struct ReviewResult {
  Changing what = Changing::kNotFound;
  std::optional<VisitView> visit;  // as it is now; absent for kNotFound
};

// Owns the thread "store". Thread-safe.
class Store {
 public:
  // Never fails: without a usable folder it works in memory, says so and keeps trying.
  explicit Store(StoreOptions options);
  ~Store();  // finish()
  // What waits is written, whatever fsync takes; begin_finish() only asks for it and waits for nothing. Afterwards
  // visits are still read, and changes are refused.
  void begin_finish();
  void finish();

  // A number for a new visit; never waits.
  [[nodiscard]] std::uint64_t next_seq() { return shared_.sequence.next(); }
  // Time part, Unix milliseconds, that the next id must not be below.
  [[nodiscard]] std::uint64_t last_id_ms() const { return shared_.last_id_ms; }

  // The newest state of a visit; its `review` is ignored: people's reviews come by review(). Ended ones are on the disk
  // after flush_interval. Never waits for a disk.
  void put(const visits::Visit& visit);
  // Pictures of the visit with this seq. `make` runs soon, on the store's thread; with too many of them it is dropped
  // and counted.
  using MakePictures = std::move_only_function<Result<Pictures>()>;
  // `made`, which may be empty, is called on the same thread once they can be had.
  void add_pictures(std::uint64_t seq, MakePictures make, std::move_only_function<void()> made = {});
  // The same of what would keep the thread for long: each call is a step of a second at most, and nothing says that
  // there are more. Between two steps all else goes on, and of several the oldest is made first. With Hurry::kYes it is
  // the last call, since the store ends or too many have begun: it gives what can be had at once.
  enum class Hurry : std::uint8_t { kNo, kYes };
  using MakeInSteps = std::move_only_function<Result<std::optional<Pictures>>(Hurry hurry)>;
  void add_pictures_in_steps(std::uint64_t seq, MakeInSteps make, std::move_only_function<void()> made = {});
  // A span that has ended; written with the next visits. Never waits.
  void add_throughput(const Throughput& span) { shared_.throughput.put(span); }

  // Durable when it returns (in memory without a disk). `expected_change` is the VisitRow::change that the person saw.
  // kIo, kBusy, kNotPermitted: it could not be written; nothing was changed.
  [[nodiscard]] Result<ReviewResult> review(std::string_view id, const visits::Review& review,
                                            std::optional<std::uint64_t> expected_change);
  // The pictures go, too. The same errors.
  [[nodiscard]] Result<Changing> erase(std::string_view id, std::optional<std::uint64_t> expected_change = {});
  // All that is due every flush_interval, and what is too old goes, now.
  [[nodiscard]] Result<void> flush();

  // The answers below show what waits in memory as well. They may wait for the disk and for each other. kBusy: try
  // again; kIo, kBadData: the disk or what is on it, which is then looked at.
  [[nodiscard]] Result<VisitPage> visits(const visits::VisitQuery& query);
  // Nothing: there is no such visit.
  [[nodiscard]] Result<std::optional<VisitView>> visit(std::string_view id);
  // The answer of a prediction that is kept with its visit. Nothing: there is none.
  [[nodiscard]] Result<std::optional<std::string>> prediction(std::string_view id);
  [[nodiscard]] Result<std::vector<SpeciesSeen>> species();
  // Of visits that began in [since, until) and are kept; the best one of those with a picture, if there is any.
  [[nodiscard]] Result<std::vector<SpeciesSeen>> species_between(WallTime since, WallTime until);
  [[nodiscard]] Result<SpeciesDetail> species_detail(const std::string& species_id);
  // Local days, "2026-11-25", both of them included; those without a visit are left out.
  [[nodiscard]] Result<std::vector<DayTotal>> days(std::string_view from, std::string_view to);
  [[nodiscard]] Result<std::vector<SpeciesHours>> day(std::string_view day);
  // Spans that ended in [since, until), the newest ones.
  [[nodiscard]] Result<ThroughputPage> throughput(WallTime since, WallTime until, std::size_t limit);
  // The same as the API's handlers ask; the store outlives it.
  [[nodiscard]] visits::VisitBook book();
  // kNotFound: there is no such visit, or it never had such a picture. kUnavailable: it had one, which is gone.
  [[nodiscard]] Result<std::string> picture(std::string_view id, Picture kind);

  // Is a bird that was not here before a new one, or were there visits on fewer days than first_days? Never waits.
  [[nodiscard]] bool knows_birds() const { return shared_.knows_birds; }
  // How large may a clip be that comes now, so that small ones follow it all day? One of fewer bytes than a small one
  // has is written as well, as long as this is not 0: no disk, or the day's budget is for other things. Never waits.
  [[nodiscard]] std::uint64_t clip_bytes() const;

  // Rises with each change of anything that the answers above show.
  [[nodiscard]] std::uint64_t change_count() const { return shared_.change; }
  // Another one for each process: change counts of two processes cannot be compared.
  [[nodiscard]] const std::string& boot_tag() const { return boot_tag_; }
  [[nodiscard]] std::string zone_name() const { return shared_.options.zone.name(); }
  [[nodiscard]] StoreStatus status();
  [[nodiscard]] StoreStatus brief() const;  // without the number of visits, for which a disk may have to be read
  [[nodiscard]] const Pulse& pulse() const { return shared_.pulse; }

 private:
  struct Job {
    std::uint64_t seq = 0;
    MakeInSteps make;
    std::move_only_function<void()> made;
    bool begun = false;
  };

  void work(const std::stop_token& stop);
  void run_commands();
  void refresh_reader();
  // A step of the oldest that has begun, and the first of each that has not; all of them to their end once the store is
  // to stop. True: some have more.
  [[nodiscard]] bool make_pictures(const std::stop_token& stop);
  void finish_job(Job& job, Result<std::optional<Pictures>> pictures);
  [[nodiscard]] Result<ReviewResult> review_now(const std::string& id, const visits::Review& review,
                                                std::optional<std::uint64_t> expected_change);
  [[nodiscard]] Result<Changing> erase_now(const std::string& id, std::optional<std::uint64_t> expected_change);

  // Runs on the store's thread and waits for it. kBusy when that takes too long.
  template <typename T>
  [[nodiscard]] Result<T> on_thread(std::function<Result<T>()> body);
  // Runs with the reading connection, which shows what waits.
  template <typename T>
  [[nodiscard]] Result<T> ask(const std::function<Result<T>(Queries&)>& question);
  [[nodiscard]] Result<void> prepare_reader() KINGLET_REQUIRES(reader_mutex_);
  void look_at_days() KINGLET_REQUIRES(reader_mutex_);
  [[nodiscard]] std::optional<Queries> open_reader() const;

  const std::string boot_tag_;
  Shared shared_;
  std::set<std::string> erased_ KINGLET_GUARDED_BY(shared_.intake);  // ids that late updates must not bring back
  Writer writer_;  // of the store's thread, and of the constructor before it

  Mutex queue_mutex_;
  Condition queue_changed_;
  std::deque<std::function<void()>> commands_ KINGLET_GUARDED_BY(queue_mutex_);
  std::deque<Job> jobs_ KINGLET_GUARDED_BY(queue_mutex_);
  bool ended_ KINGLET_GUARDED_BY(queue_mutex_) = false;

  Mutex reader_mutex_;
  std::optional<Queries> reader_ KINGLET_GUARDED_BY(reader_mutex_);
  std::uint64_t reader_generation_ KINGLET_GUARDED_BY(reader_mutex_) = 0;
  std::uint64_t counted_at_ KINGLET_GUARDED_BY(reader_mutex_) = ~0ULL;  // change_count() of visit_count_
  std::uint64_t visit_count_ KINGLET_GUARDED_BY(reader_mutex_) = 0;
  std::string looked_on_ KINGLET_GUARDED_BY(reader_mutex_);  // the day of knows_birds

  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::store
