// SPDX-License-Identifier: Apache-2.0
// Why: all that touches the disk to write: opening, batches, pictures, the budget, retention, and what to do when any
// of it fails. Whatever fails, what waits stays in memory and is tried again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/file.h"
#include "store/database/visit_database.h"
#include "store/pace.h"
#include "store/salvage.h"
#include "store/shared.h"
#include "store/write_budget.h"

namespace kinglet::store {

// Thread-bound: the store's own thread, or its constructor before there is one.
class Writer {
 public:
  explicit Writer(Shared& shared)
      : shared_(shared), pace_(shared.options.flush_interval), budget_(shared.options.write_budget.count) {}
  ~Writer();

  // Opens the database if there is none. Where that cannot be, the state says why.
  void open();
  // What is due now and then: is the disk still there, what waits, is the file sound, what is too old. `stop` ends
  // long work early; it is asked again and again, so that it may do what must not wait for it.
  void tend(const std::function<bool()>& stop);
  // When to do so the next time.
  [[nodiscard]] SteadyTime next_turn() const { return pace_.next_turn(); }
  // The next tend() looks for what is too old, whenever it last did.
  void retain_at_once() { next_retention_ = {}; }
  // Writes what waits: all rows, and the pictures for which there is time. Nothing is lost by an error.
  [[nodiscard]] Result<void> write(Use use);
  // The last write of all, within a second and a half and one more sync: all rows before any picture.
  void finish();

  // The pictures of a visit that may be written already.
  void add_pictures(std::uint64_t seq, Pictures pictures);

  // Durable when they return, the visit's latest state with it. False: there is no such visit.
  [[nodiscard]] Result<bool> review(const VisitRow& row, const visits::Review& review, std::uint64_t change);
  [[nodiscard]] Result<bool> erase(std::string_view id);

 private:
  static constexpr std::uint64_t kSmallBatch = 65'536;  // bytes that have to be left of the budget

  [[nodiscard]] Result<void> try_open();
  void settle(const Result<void>& opened);
  [[nodiscard]] Result<void> look_only();
  void go_on_from(const Remembered& found);
  void begin_anew(const Error& damage);
  [[nodiscard]] Result<void> adopt_numbers(VisitDatabase& database);
  [[nodiscard]] Result<void> reserve_numbers();
  void check(const std::function<bool()>& stop);
  void salvage(const std::function<bool()>& stop);
  void sweep(const std::function<bool()>& stop);
  void tell_of(const PictureFiles::Found& found, bool all_visits_were_read);
  void retain();
  // Is there time for the pictures of one more visit, so many syncs?
  using MayTake = std::function<bool(int syncs)>;
  [[nodiscard]] Result<void> write(Use use, const MayTake& before_rows, const MayTake& after_rows);
  // All rows are written, one whose pictures still wait without them. Gives how many of these there are.
  [[nodiscard]] Result<std::size_t> write_batch(const std::vector<Pending::Entry>& waiting, const MayTake& may_take);
  // Pictures whose rows tell of them with the next batch.
  [[nodiscard]] Result<void> write_pictures_ahead(const MayTake& may_take);
  [[nodiscard]] Result<bool> is_deleted(const PendingVisit& entry);
  [[nodiscard]] bool has_written_pictures(const PendingVisit& entry) const;
  [[nodiscard]] Result<Pending::Entry> write_pictures(const Pending::Entry& entry);
  [[nodiscard]] bool breathe(const std::function<bool()>& stop);
  [[nodiscard]] Result<void> within_budget(Use use);
  // Shared::room_for_clips, of now.
  [[nodiscard]] std::uint64_t room_for_clips() const;
  // Takes the consequence of a failed write and gives the same error back.
  Error failed(Error error);
  void close();
  [[nodiscard]] Remembered remember_now() const;
  void account();
  void spend(std::uint64_t bytes);
  [[nodiscard]] std::string today() const;

  Shared& shared_;
  FileDescriptor lock_;
  std::optional<VisitDatabase> database_;
  Pace pace_;
  WriteBudget budget_;
  bool resumed_ = false;  // the budget of a program before this one is known
  bool checked_ = true;
  bool salvaged_ = false;           // nothing of a database that was moved aside is left to do
  std::optional<Salvage> salvage_;  // begun
  bool swept_ = false;
  std::string aside_;  // name of the damaged database that was moved aside and has no successor yet
  bool had_database_ = false;
  std::uint64_t home_device_ = 0;  // of the folder when it last had a database
  std::uint64_t counted_ = 0;      // of the VFS, already spent
  std::uint64_t picture_bytes_ = 0;
  struct WrittenPictures {
    std::shared_ptr<const Pictures> of;
    PictureSizes sizes;  // as the row is to tell
  };
  std::map<std::uint64_t, WrittenPictures> ahead_;    // by seq: on the disk, and no row tells of them yet
  std::map<std::uint64_t, std::uint64_t> only_rows_;  // by seq: the version with a row that tells of no pictures
  SteadyTime next_retention_{};
};

}  // namespace kinglet::store
