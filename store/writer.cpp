// SPDX-License-Identifier: Apache-2.0
#include "store/writer.h"

#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "engine/base/format.h"
#include "store/folder_lock.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

constexpr auto kRetentionInterval = std::chrono::hours(1);
constexpr std::size_t kThroughputBatch = 12;
constexpr std::uint64_t kSmallBatch = 65'536;
constexpr auto kSalvageSlice = std::chrono::seconds(2);

std::uint64_t device_of(const fs::path& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_dev : 0;
}

// The one line that people read, with what to do about it.
std::string note_of(const Error& error) {
  return error.hint.empty() ? describe(error) : describe(error) + " (" + error.hint + ")";
}

}  // namespace

Writer::~Writer() { close(); }

std::string Writer::today() const { return shared_.options.zone.local_hour(shared_.options.now()).day; }

void Writer::spend(std::uint64_t bytes) {
  budget_.spend(today(), bytes);
  shared_.written += bytes;
  shared_.written_today = budget_.written_on(today());
}

void Writer::account() {
  const bool takes_clips = database_ && budget_.allows(Use::kClip, today(), 0);
  if (shared_.takes_clips.exchange(takes_clips) && !takes_clips && database_) {
    shared_.say(LogLevel::kInfo,
                "store: no more clips today: their share of the write budget is used up "
                "(store.write_budget); pictures and visits go on");
  }
  const std::uint64_t written = shared_.vfs.written_bytes();
  spend(written - std::exchange(counted_, written));
  if (!database_) return;
  const Result<std::uint64_t> used = database_->used_bytes();
  if (used) shared_.used = *used + picture_bytes_;
}

Remembered Writer::remember_now() const {
  const std::string day = today();
  return {.change = shared_.change,
          .last_id_ms = std::max<std::uint64_t>(shared_.last_id_ms, shared_.options.newest_id_ms()),
          .written_day = day,
          .written_bytes = budget_.written_on(day)};
}

void Writer::close() {
  database_.reset();
  lock_.reset();
}

void Writer::open() {
  if (database_) return;
  if (shared_.options.folder.empty()) {
    return shared_.set_state(StoreState::kMemory, "no folder is configured (store.path)");
  }
  Result<void> opened = try_open();
  if (!opened && opened.error().code == ErrorCode::kBadData) return begin_anew(opened.error());
  settle(opened);
}

void Writer::settle(const Result<void>& opened) {
  account();
  if (!opened) {
    close();
    shared_.set_state(had_database_ ? StoreState::kWaiting : StoreState::kMemory, note_of(opened.error()));
  } else if (shared_.pending.ended().empty()) {
    // Otherwise the first write says whether it is well.
    shared_.set_state(StoreState::kDisk, "");
  }
}

void Writer::begin_anew(const Error& damage) {
  close();
  const Result<fs::path> aside = move_aside(shared_.options.folder, shared_.options.now());
  if (!aside) return settle(std::unexpected(aside.error()));
  ++shared_.moved_aside;
  shared_.say(LogLevel::kError, format_text("store: the database is damaged; it is now {} and a new one is begun: {}",
                                            aside->string(), describe(damage)));
  // Numbers go on behind those of the damaged one, also when the file of reserved ones is gone.
  const LastNumbers last = last_numbers(*aside);
  shared_.last_id_ms = std::max<std::uint64_t>(shared_.last_id_ms, last.id_ms);
  if (last.seq > read_reserved(shared_.options.folder)) {
    const Result<std::uint64_t> written = write_reserved(shared_.options.folder, last.seq);
    if (written) spend(*written);
  }
  const Result<void> opened = try_open();
  settle(opened);
  if (!database_) return;
  const Result<void> ordered = Salvage::order(database_->connection(), aside->filename().string());
  if (!ordered) shared_.say(LogLevel::kWarning, "store: nothing is saved from it: " + describe(ordered.error()));
}

Result<void> Writer::try_open() {
  const fs::path& folder = shared_.options.folder;
  std::error_code failed;
  if (!had_database_ && !fs::exists(folder, failed)) fs::create_directory(folder, failed);
  if (failed) {
    return fail(ErrorCode::kNotFound, "cannot make the state folder: " + failed.message(), folder.string(),
                "make it, or set store.path");
  }
  // The empty folder on which a disk was mounted is not the place to begin anew.
  const bool elsewhere = had_database_ && device_of(folder) != home_device_;
  if (elsewhere && !fs::exists(database_file(folder), failed)) {
    return fail(ErrorCode::kNotFound, "the disk with the state folder is away", folder.string(), "put it back");
  }
  lock_.reset();
  lock_ = KINGLET_TRY(lock_folder(folder));
  database_ = KINGLET_TRY(VisitDatabase::open(folder, shared_.vfs.name()));
  const Remembered found = KINGLET_TRY(database_->remembered());
  if (!std::exchange(resumed_, true)) budget_.resume(found.written_day, found.written_bytes);
  shared_.last_id_ms = std::max<std::uint64_t>(shared_.last_id_ms, found.last_id_ms);
  shared_.change = std::max<std::uint64_t>(shared_.change, found.change) + 1;
  KINGLET_TRY(adopt_numbers());
  checked_ = database_->was_closed();
  salvage_.reset();
  salvaged_ = false;
  swept_ = false;
  had_database_ = true;
  home_device_ = device_of(folder);
  shared_.readable = true;
  ++shared_.generation;
  return {};
}

Result<void> Writer::adopt_numbers() {
  const std::uint64_t used = std::max(read_reserved(shared_.options.folder), KINGLET_TRY(database_->highest_seq()));
  const std::uint64_t offset = shared_.sequence.adopt(used);
  if (offset > 0) {
    shared_.pending.renumber(offset);
    shared_.say(LogLevel::kInfo, format_text("store: visits kept in memory move up by {} in the order", offset));
  }
  return reserve_numbers();
}

Result<void> Writer::reserve_numbers() {
  const std::uint64_t number = shared_.sequence.wants();
  if (number == 0) return {};
  spend(KINGLET_TRY(write_reserved(shared_.options.folder, number)));
  shared_.sequence.reserved(number);
  return {};
}

Error Writer::failed(Error error) {
  account();
  if (error.code == ErrorCode::kBusy) {
    shared_.set_state(StoreState::kWaiting, note_of(error));
    return error;
  }
  if (error.code == ErrorCode::kBadData) {
    begin_anew(error);
  } else {
    close();
    shared_.set_state(StoreState::kWaiting, note_of(error));
  }
  return error;
}

void Writer::tend(const std::function<bool()>& stop) {
  if (database_ && !database_->is_at_its_place()) {
    close();
    shared_.readable = false;
    ++shared_.generation;
    shared_.set_state(StoreState::kWaiting, "the state folder is gone: " + shared_.options.folder.string());
  }
  open();
  if (shared_.suspicion.exchange(false)) checked_ = false;
  if (database_ && !checked_) check(stop);
  if (database_ && !salvaged_ && !stop()) salvage(stop);
  // Before that, pictures of visits that are still to be saved would go.
  if (database_ && salvaged_ && !swept_ && !stop()) sweep();
  if (database_) (void)write(Use::kVisits);
  if (database_) retain();
  account();
}

void Writer::check(const std::function<bool()>& stop) {
  const Result<std::vector<std::string>> faults = database_->check(false, stop);
  if (stop()) return;
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
  const SteadyTime deadline = SteadyClock::now() + kSalvageSlice;
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

void Writer::sweep() {
  const auto wanted = [&](std::string_view id, Picture kind) { return database_->wants_picture(id, kind); };
  const bool all_visits_were_read = moved_aside(shared_.options.folder).empty();
  const Result<PictureFiles::Found> found = shared_.files.sweep(wanted, all_visits_were_read);
  if (!found) return (void)failed(found.error());
  if (found->strays > 0 && !all_visits_were_read) {
    shared_.say(LogLevel::kInfo,
                format_text("store: {} picture files belong to no visit; they stay as long as a damaged "
                            "database does",
                            found->strays));
  }
  picture_bytes_ = found->bytes;
  swept_ = true;
  account();
}

void Writer::add_pictures(std::uint64_t seq, Pictures pictures) {
  if (database_ && !shared_.pending.contains(seq)) {
    // Written a moment ago: the row comes back to be written with its pictures.
    Result<std::optional<VisitRow>> row = database_->find(seq);
    if (row && *row) shared_.dropped += shared_.pending.put(std::move(**row));
  }
  shared_.dropped += shared_.pending.add_pictures(seq, std::move(pictures));
  ++shared_.change;
}

Result<void> Writer::within_budget(Use use) {
  if (budget_.allows(use, today(), kSmallBatch)) return {};
  return fail(ErrorCode::kIo,
              format_text("today's write budget of {} is used up", format_bytes(shared_.options.write_budget)), {},
              "they are written tomorrow; store.write_budget");
}

Result<void> Writer::write(Use use) {
  const std::vector<Pending::Entry> waiting = shared_.pending.ended();
  const bool person = use == Use::kPerson;
  const bool enough = shared_.throughput.size() >= (person ? 1 : kThroughputBatch);
  if (waiting.empty() && !enough) {
    if (within_budget(use)) shared_.set_state(StoreState::kDisk, "");
    return {};
  }
  if (Result<void> allowed = within_budget(use); !allowed) {
    shared_.set_state(StoreState::kWaiting, note_of(allowed.error()));
    return allowed;
  }
  if (Result<void> written = write_batch(waiting); !written) return std::unexpected(failed(written.error()));
  shared_.set_state(StoreState::kDisk, "");
  return {};
}

Result<void> Writer::write_batch(const std::vector<Pending::Entry>& waiting) {
  std::vector<Pending::Entry> rows;
  rows.reserve(waiting.size());
  for (const Pending::Entry& entry : waiting) rows.push_back(KINGLET_TRY(write_pictures(entry)));
  const PendingThroughput::Batch throughput = shared_.throughput.all();
  KINGLET_TRY(database_->write(rows, throughput.spans, remember_now()));
  shared_.throughput.written(throughput);
  shared_.pending.written(waiting);
  account();
  return reserve_numbers();
}

// The entry as its row should be: without the pictures for which there is no room.
Result<Pending::Entry> Writer::write_pictures(const Pending::Entry& entry) {
  if (!entry->pictures || entry->pictures->total() == 0) return entry;
  Pictures allowed = *entry->pictures;
  PendingVisit changed = *entry;
  const std::string day = today();
  const auto limit = [&](std::string& bytes, std::optional<std::uint64_t>& size, Use use) {
    if (bytes.empty() || budget_.allows(use, day, allowed.total())) return;
    bytes.clear();
    size.reset();
    ++shared_.dropped;
  };
  limit(allowed.clip, changed.row.pictures.clip, Use::kClip);
  limit(allowed.frame, changed.row.pictures.frame, Use::kPicture);
  limit(allowed.crop, changed.row.pictures.crop, Use::kPicture);
  if (Result<void> written = shared_.files.write(entry->row.visit.id, allowed); !written) {
    if (written.error().code == ErrorCode::kIo) return std::unexpected(written.error());
    shared_.say(LogLevel::kWarning, "store: a picture cannot be written: " + describe(written.error()));
    ++shared_.dropped;
    changed.row.pictures = {};
    return std::make_shared<const PendingVisit>(std::move(changed));
  }
  spend(allowed.total());
  picture_bytes_ += allowed.total();
  return std::make_shared<const PendingVisit>(std::move(changed));
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

Result<bool> Writer::review(const VisitRow& row, const visits::Review& review, std::uint64_t change) {
  open();
  if (!database_ && had_database_) return fail(ErrorCode::kIo, "the disk cannot be written at the moment");
  if (!database_) {
    shared_.pending.review(row.visit.seq, review, change);
    return true;
  }
  KINGLET_TRY(within_budget(Use::kPerson));
  const Pending::Entry entry = shared_.pending.find(row.visit.id);
  if (entry) {
    if (Result<void> written = write_batch({entry}); !written) return std::unexpected(failed(written.error()));
  }
  Remembered remembered = remember_now();
  remembered.change = change;
  Result<bool> found = database_->review(row.visit.id, review, remembered);
  if (!found) return std::unexpected(failed(found.error()));
  account();
  shared_.pending.review(row.visit.seq, review, change);
  return found;
}

Result<bool> Writer::erase(std::string_view id) {
  open();
  if (!database_ && had_database_) return fail(ErrorCode::kIo, "the disk cannot be written at the moment");
  const Pending::Entry entry = shared_.pending.find(id);
  bool found = entry != nullptr;
  if (database_) {
    KINGLET_TRY(within_budget(Use::kPerson));
    for (const Picture kind : {Picture::kCrop, Picture::kFrame, Picture::kClip}) (void)shared_.files.remove(id, kind);
    Result<bool> erased = database_->erase(id, remember_now());
    if (!erased) return std::unexpected(failed(erased.error()));
    found = found || *erased;
    account();
  }
  if (entry) shared_.pending.remove(entry->row.visit.seq);
  return found;
}

}  // namespace kinglet::store
