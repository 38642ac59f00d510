// SPDX-License-Identifier: Apache-2.0
// A row tells of a picture only when the file and its name are synced, and files are removed before their rows change,
// so that no picture outlives its visit. Long work is cut into slices, or lets the batches in between.
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

constexpr std::size_t kThroughputBatch = 12;

std::uint64_t device_of(const fs::path& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_dev : 0;
}

// The row as long as its pictures are not on the disk; those of before stay.
Pending::Entry without_pictures(const Pending::Entry& entry) {
  auto row = std::make_shared<PendingVisit>(*entry);
  const Pictures& waiting = *entry->pictures;
  if (!waiting.crop.empty()) row->row.pictures.crop.reset();
  if (!waiting.frame.empty()) row->row.pictures.frame.reset();
  if (!waiting.clip.empty()) row->row.pictures.clip.reset();
  return row;
}

// It may be read, though it cannot be written.
bool is_of_the_disk(ErrorCode code) {
  return code == ErrorCode::kIo || code == ErrorCode::kNotPermitted || code == ErrorCode::kNotFound ||
         code == ErrorCode::kCannotCreate;
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

// Half of the day's clips are small ones, so that there are many.
std::uint64_t Writer::room_for_clips() const {
  const std::uint64_t left = database_ ? budget_.left(Use::kClip, today()) : 0;
  if (left == 0) return 0;
  const std::uint64_t for_large = left - std::min(left, budget_.share(Use::kClip) / 2);
  return std::max<std::uint64_t>(1, std::min(for_large, shared_.options.pending.picture_bytes));
}

void Writer::account() {
  const std::uint64_t written = shared_.vfs.written_bytes();
  spend(written - std::exchange(counted_, written));
  const std::uint64_t room = room_for_clips();
  if (shared_.room_for_clips.exchange(room) > 0 && room == 0 && database_) {
    shared_.say(LogLevel::kInfo,
                "store: no more clips today: their share of the write budget is used up "
                "(store.write_budget); pictures and visits go on");
  }
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
  shared_.writable = false;
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
    if (!had_database_ && is_of_the_disk(opened.error().code)) (void)look_only();
    shared_.set_state(had_database_ ? StoreState::kWaiting : StoreState::kMemory, note_of(opened.error()));
  } else if (shared_.pending.ended().empty()) {
    // Otherwise the first write says whether it is well.
    shared_.set_state(StoreState::kDisk, "");
  }
}

// What is on a disk that cannot be written is shown all the same, and numbers go on behind it.
Result<void> Writer::look_only() {
  VisitDatabase seen = KINGLET_TRY(VisitDatabase::look(shared_.options.folder));
  const Remembered found = KINGLET_TRY(seen.remembered());
  KINGLET_TRY(adopt_numbers(seen));
  go_on_from(found);
  return {};
}

void Writer::go_on_from(const Remembered& found) {
  shared_.last_id_ms = std::max<std::uint64_t>(shared_.last_id_ms, found.last_id_ms);
  shared_.change = std::max<std::uint64_t>(shared_.change, found.change) + 1;
  had_database_ = true;
  home_device_ = device_of(shared_.options.folder);
  shared_.readable = true;
  ++shared_.generation;
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
  shared_.pending.forget_stored();
  only_rows_.clear();
  if (last.seq > read_reserved(shared_.options.folder)) {
    const Result<std::uint64_t> written = write_reserved(shared_.options.folder, last.seq);
    if (written) spend(*written);
  }
  aside_ = aside->filename().string();
  settle(try_open());
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
  if (aside_.empty()) {
    if (std::optional<Error> damage = lost_database(folder)) return std::unexpected(*std::move(damage));
  }
  database_ = KINGLET_TRY(VisitDatabase::open(folder, shared_.vfs.name()));
  const Remembered found = KINGLET_TRY(database_->remembered());
  if (!std::exchange(resumed_, true)) budget_.resume(found.written_day, found.written_bytes);
  KINGLET_TRY(adopt_numbers(*database_));
  KINGLET_TRY(reserve_numbers());
  if (const std::string name = std::exchange(aside_, {}); !name.empty()) {
    const Result<void> ordered = Salvage::order(database_->connection(), name);
    if (!ordered) shared_.say(LogLevel::kWarning, "store: nothing is saved from it: " + describe(ordered.error()));
  }
  checked_ = database_->was_closed();
  salvage_.reset();
  salvaged_ = false;
  swept_ = false;
  shared_.writable = true;
  go_on_from(found);
  return {};
}

Result<void> Writer::adopt_numbers(VisitDatabase& database) {
  const std::uint64_t used = std::max(read_reserved(shared_.options.folder), KINGLET_TRY(database.highest_seq()));
  std::uint64_t offset = 0;
  {
    MutexLock lock(shared_.intake);
    offset = shared_.sequence.adopt(used);
    if (offset > 0) shared_.pending.renumber(offset);
  }
  if (offset > 0) {
    only_rows_.clear();
    ahead_.clear();
    shared_.say(LogLevel::kInfo, format_text("store: visits kept in memory move up by {} in the order", offset));
  }
  return {};
}

Result<void> Writer::reserve_numbers() {
  const std::uint64_t number = shared_.sequence.wants();
  if (number == 0) return {};
  constexpr int kSyncs = 2;
  const SteadyTime begin = SteadyClock::now();
  spend(KINGLET_TRY(write_reserved(shared_.options.folder, number)));
  pace_.synced(kSyncs, SteadyClock::now() - begin);
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

void Writer::add_pictures(std::uint64_t seq, Pictures pictures) {
  if (database_ && !shared_.pending.contains(seq)) {
    // Written a moment ago: the row comes back to be written with its pictures.
    Result<std::optional<VisitRow>> row = database_->find(seq);
    if (row && *row) shared_.dropped += shared_.pending.put_stored(std::move(**row));
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
  return write(
      use, [&](int syncs) { return pace_.has_time_before_rows(syncs, SteadyClock::now()); },
      // One at least: where the disk is too slow for the interval, pictures come all the same.
      [&, first = true](int syncs) mutable {
        return std::exchange(first, false) || pace_.has_time_after_rows(syncs, SteadyClock::now());
      });
}

void Writer::finish() {
  constexpr auto kTime = std::chrono::milliseconds(1500);
  const SteadyTime end = SteadyClock::now() + kTime;
  if (!database_) return;
  const auto no_more = [](int) { return false; };
  const auto until_the_end = [&](int syncs) { return pace_.end_of(syncs, SteadyClock::now()) <= end; };
  const Result<void> written = write(Use::kPerson, no_more, until_the_end);
  if (written && !ahead_.empty()) (void)write(Use::kPerson, no_more, no_more);
}

Result<void> Writer::write(Use use, const MayTake& before_rows, const MayTake& after_rows) {
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
  Result<std::size_t> left = write_batch(waiting, before_rows);
  if (!left) return std::unexpected(failed(left.error()));
  if (*left > 0) {
    if (Result<void> ahead = write_pictures_ahead(after_rows); !ahead) return std::unexpected(failed(ahead.error()));
  }
  shared_.set_state(StoreState::kDisk, "");
  return {};
}

Result<std::size_t> Writer::write_batch(const std::vector<Pending::Entry>& waiting, const MayTake& may_take) {
  std::vector<Pending::Entry> rows;
  std::vector<Pending::Entry> whole;
  std::vector<Pending::Entry> halves;
  Result<void> pictures;
  for (const Pending::Entry& entry : waiting) {
    if (KINGLET_TRY(is_deleted(*entry))) {
      shared_.pending.remove(entry->row.visit.seq);
      continue;
    }
    const int files = entry->pictures ? entry->pictures->count() : 0;
    if (files == 0 || has_written_pictures(*entry) || (pictures && may_take(files + 1))) {
      Result<Pending::Entry> written = write_pictures(entry);
      if (written) {
        rows.push_back(*written);
        whole.push_back(entry);
        continue;
      }
      pictures = std::unexpected(written.error());
    }
    halves.push_back(entry);
    const auto known = only_rows_.find(entry->row.visit.seq);
    if (known == only_rows_.end() || known->second != entry->version) rows.push_back(without_pictures(entry));
  }
  const PendingThroughput::Batch throughput = shared_.throughput.all();
  if (!rows.empty() || !throughput.spans.empty()) {
    KINGLET_TRY(database_->write(rows, throughput.spans, remember_now()));
  }
  shared_.throughput.written(throughput);
  shared_.pending.written(whole);
  shared_.pending.rows_written(halves);
  for (const Pending::Entry& entry : whole) ahead_.erase(entry->row.visit.seq);
  std::erase_if(ahead_, [&](const auto& item) { return !shared_.pending.contains(item.first); });
  only_rows_.clear();
  for (const Pending::Entry& entry : halves) only_rows_.emplace(entry->row.visit.seq, entry->version);
  account();
  KINGLET_TRY(reserve_numbers());
  if (!pictures) return std::unexpected(pictures.error());
  return halves.size();
}

// Retention took it while its pictures waited: no file of it is written any more.
Result<bool> Writer::is_deleted(const PendingVisit& entry) {
  if (!entry.stored) return false;
  return !KINGLET_TRY(database_->find(entry.row.visit.seq)).has_value();
}

Result<void> Writer::write_pictures_ahead(const MayTake& may_take) {
  for (const Pending::Entry& entry : shared_.pending.ended()) {
    const int files = entry->pictures ? entry->pictures->count() : 0;
    if (files == 0 || has_written_pictures(*entry)) continue;
    if (KINGLET_TRY(is_deleted(*entry))) continue;
    if (!may_take(files + 1)) break;
    const Pending::Entry written = KINGLET_TRY(write_pictures(entry));
    ahead_.insert_or_assign(entry->row.visit.seq, WrittenPictures{entry->pictures, written->row.pictures});
  }
  account();
  return {};
}

bool Writer::has_written_pictures(const PendingVisit& entry) const {
  const auto found = ahead_.find(entry.row.visit.seq);
  return found != ahead_.end() && found->second.of == entry.pictures;
}

// The entry as its row should be: without the pictures for which there is no room.
Result<Pending::Entry> Writer::write_pictures(const Pending::Entry& entry) {
  if (!entry->pictures || entry->pictures->total() == 0) return entry;
  PendingVisit changed = *entry;
  if (has_written_pictures(*entry)) {
    changed.row.pictures = ahead_.at(entry->row.visit.seq).sizes;
    return std::make_shared<const PendingVisit>(std::move(changed));
  }
  const SteadyTime begin = SteadyClock::now();
  Pictures allowed = *entry->pictures;
  const std::string day = today();
  const auto limit = [&](SharedBytes& bytes, std::optional<std::uint64_t>& size, Use use) {
    if (bytes.empty() || budget_.allows(use, day, allowed.total())) return;
    bytes = {};
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
  if (allowed.count() > 0) pace_.synced(allowed.count() + 1, SteadyClock::now() - begin);
  spend(allowed.total());
  picture_bytes_ += allowed.total();
  return std::make_shared<const PendingVisit>(std::move(changed));
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
    // Its row only: nobody waits for the pictures of a visit to review it.
    const Result<std::size_t> written = write_batch({entry}, [](int) { return false; });
    if (!written) return std::unexpected(failed(written.error()));
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
    Result<bool> erased = database_->erase(id, remember_now());
    if (!erased) return std::unexpected(failed(erased.error()));
    // After the row, or a power cut between the two leaves a row that tells of pictures; files of no visit are swept.
    for (const Picture kind : {Picture::kCrop, Picture::kFrame, Picture::kClip}) (void)shared_.files.remove(id, kind);
    found = found || *erased;
    account();
  }
  if (entry) shared_.pending.remove(entry->row.visit.seq);
  return found;
}

}  // namespace kinglet::store
