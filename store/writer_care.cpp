// SPDX-License-Identifier: Apache-2.0
// Why: the part of the writer that looks after what is on the disk already, now and then: is the file sound, what can
// be saved of a damaged one, which pictures belong to no visit, what is too old.
#include <algorithm>
#include <utility>

#include "engine/base/format.h"
#include "store/writer.h"

namespace kinglet::store {
namespace {

constexpr auto kRetentionInterval = std::chrono::hours(1);

std::string counted(std::uint64_t count, std::string_view what) {
  return format_text("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

void Writer::tend(const std::function<bool()>& stop) {
  pace_.begin_turn(SteadyClock::now());
  if (database_ && !database_->is_at_its_place()) {
    close();
    shared_.readable = false;
    ++shared_.generation;
    shared_.set_state(StoreState::kWaiting, "the state folder is gone: " + shared_.options.folder.string());
  }
  open();
  if (database_) (void)write(Use::kVisits);
  if (shared_.suspicion.exchange(false)) checked_ = false;
  if (database_ && !checked_) check(stop);
  if (database_ && !salvaged_ && !stop()) salvage(stop);
  // Before that, pictures of visits that are still to be saved would go.
  if (database_ && salvaged_ && !swept_ && !stop()) sweep(stop);
  if (database_) retain();
  account();
}

// For long work that neither holds the database nor minds when it is opened anew: visits do not wait for its end.
bool Writer::breathe(const std::function<bool()>& stop) {
  if (database_ && pace_.is_due(SteadyClock::now())) {
    pace_.begin_turn(SteadyClock::now());
    (void)write(Use::kVisits);
  }
  return stop() || !database_;
}

// By a connection of its own, beside which is written.
void Writer::check(const std::function<bool()>& stop) {
  const std::uint64_t generation = shared_.generation;
  const auto look = [&]() -> Result<std::vector<std::string>> {
    Database seen =
        KINGLET_TRY(Database::open(database_file(shared_.options.folder), OpenAs::kReadOnly, shared_.vfs.name()));
    return integrity_faults(seen, false, [&] { return breathe(stop) || shared_.generation != generation; });
  };
  const Result<std::vector<std::string>> faults = look();
  if (stop() || !database_ || shared_.generation != generation) return;
  checked_ = true;
  if (!faults) return (void)failed(faults.error());
  if (!faults->empty()) {
    (void)failed(Error{ErrorCode::kBadData, faults->front(), database_file(shared_.options.folder).string(), {}});
  }
}

void Writer::salvage(const std::function<bool()>& stop) {
  if (!salvage_) {
    const std::uint64_t reserved = read_reserved(shared_.options.folder);
    Result<std::optional<Salvage>> found = Salvage::find(database_->connection(), shared_.options.folder, reserved);
    if (!found) return (void)failed(found.error());
    salvage_ = std::move(*found);
    salvaged_ = !salvage_;
    if (salvaged_) return;
  }
  const SteadyTime deadline = SteadyClock::now() + pace_.slice();
  const auto over_budget = [&] {
    return !budget_.allows(Use::kVisits, today(), shared_.vfs.written_bytes() - counted_ + kSmallBatch);
  };
  if (over_budget()) return;
  const auto pause = [&] { return SteadyClock::now() >= deadline || stop() || over_budget(); };
  const std::uint64_t before = salvage_->result().visits;
  const Result<bool> done =
      salvage_->go_on(database_->connection(), shared_.files, [&] { return ++shared_.change; }, pause);
  account();
  shared_.salvaged += salvage_->result().visits - before;
  if (!done) return (void)failed(done.error());
  if (!*done) return;
  const Salvaged& saved = salvage_->result();
  const std::string places =
      saved.gaps == 0 ? std::string()
                      : format_text("; {} {} of it cannot be read", saved.gaps, saved.gaps == 1 ? "place" : "places");
  shared_.say(LogLevel::kWarning,
              salvage_->is_readable()
                  ? format_text("store: saved from {}: {} visits ({} reviewed), {} counts of earlier days and {} spans "
                                "of throughput{}",
                                salvage_->file(), saved.visits, saved.reviewed, saved.counts, saved.spans, places)
                  : format_text("store: {}: nothing of it can be read", salvage_->file()));
  salvage_.reset();
  salvaged_ = true;
}

void Writer::sweep(const std::function<bool()>& stop) {
  std::optional<Error> of_database;
  const auto wanted = [&](std::string_view id, Picture kind) -> Result<bool> {
    if (breathe(stop)) return fail(ErrorCode::kBusy, "there is something else to do first");
    Result<bool> answer = database_->wants_picture(id, kind);
    if (!answer) of_database = answer.error();
    return answer;
  };
  const bool all_visits_were_read = moved_aside(shared_.options.folder).empty();
  const Result<PictureFiles::Found> found = shared_.files.sweep(wanted, all_visits_were_read);
  if (of_database) return (void)failed(*of_database);
  if (!found && found.error().code == ErrorCode::kBusy) return;  // once more in the next turn
  swept_ = true;
  if (!found) return shared_.say(LogLevel::kWarning, "store: pictures: " + describe(found.error()));
  tell_of(*found, all_visits_were_read);
  picture_bytes_ = found->bytes;
  account();
}

void Writer::tell_of(const PictureFiles::Found& found, bool all_visits_were_read) {
  const std::string folder = (shared_.options.folder / "pictures").string();
  if (found.foreign > 0) {
    shared_.say(LogLevel::kInfo,
                format_text("store: {} in {} {} not kinglet's and {}", counted(found.foreign, "thing"), folder,
                            found.foreign == 1 ? "is" : "are", found.foreign == 1 ? "stays" : "stay"));
  }
  if (found.removed > 0) {
    shared_.say(LogLevel::kInfo, format_text("store: {} of no visit removed", counted(found.removed, "picture file")));
  }
  const std::uint64_t left = found.strays - found.removed;
  if (left == 0) return;
  shared_.say(LogLevel::kInfo,
              format_text("store: {} of no visit {}", counted(left, "picture file"),
                          found.through_a_link    ? "stay: nothing is cleared away behind the link " + folder
                          : !all_visits_were_read ? "stay as long as a damaged database does"
                                                  : "cannot be removed from " + folder));
}

void Writer::retain() {
  const SteadyTime now = SteadyClock::now();
  const StoreOptions& options = shared_.options;
  if (now < next_retention_ && shared_.used <= options.retention.quota.count) return;
  next_retention_ = now + kRetentionInterval;
  const std::optional<WallTime> wall = options.clock_synced() ? std::optional(options.now()) : std::nullopt;
  const Result<RetentionResult> result =
      apply_retention(*database_, shared_.files, options.retention, wall, picture_bytes_);
  if (!result) return (void)failed(result.error());
  picture_bytes_ -= std::min(picture_bytes_, result->picture_bytes_removed);
  if (result->visits_removed + result->frames_removed > 0) {
    ++shared_.change;
    shared_.say(LogLevel::kInfo, format_text("store: {} old visits and the whole frames of {} removed",
                                             result->visits_removed, result->frames_removed));
  }
  account();
}

}  // namespace kinglet::store
