// SPDX-License-Identifier: Apache-2.0
// Why: all that touches the disk to write: opening, batches, pictures, the budget, retention, and what to do when any
// of it fails. Whatever fails, what waits stays in memory and is tried again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/file.h"
#include "store/salvage.h"
#include "store/shared.h"
#include "store/visit_database.h"
#include "store/write_budget.h"

namespace kinglet::store {

// Thread-bound: the store's own thread, or its constructor before there is one.
class Writer {
 public:
  explicit Writer(Shared& shared) : shared_(shared), budget_(shared.options.write_budget.count) {}
  ~Writer();

  // Opens the database if there is none. Where that cannot be, the state says why.
  void open();
  // What is due now and then: is the disk still there, is the file sound, what waits, what is too old. `stop` ends
  // long work early.
  void tend(const std::function<bool()>& stop);
  // The next tend() looks for what is too old, whenever it last did.
  void retain_at_once() { next_retention_ = {}; }
  // Writes what waits. Nothing is lost by an error.
  [[nodiscard]] Result<void> write(Use use);
  [[nodiscard]] bool has_database() const { return database_.has_value(); }

  // The pictures of a visit that may be written already.
  void add_pictures(std::uint64_t seq, Pictures pictures);

  // Durable when they return, the visit's latest state with it. False: there is no such visit.
  [[nodiscard]] Result<bool> review(const VisitRow& row, const visits::Review& review, std::uint64_t change);
  [[nodiscard]] Result<bool> erase(std::string_view id);

 private:
  [[nodiscard]] Result<void> try_open();
  void settle(const Result<void>& opened);
  void begin_anew(const Error& damage);
  [[nodiscard]] Result<void> adopt_numbers();
  [[nodiscard]] Result<void> reserve_numbers();
  void check(const std::function<bool()>& stop);
  void salvage(const std::function<bool()>& stop);
  void sweep();
  void retain();
  [[nodiscard]] Result<void> write_batch(const std::vector<Pending::Entry>& waiting);
  [[nodiscard]] Result<Pending::Entry> write_pictures(const Pending::Entry& entry);
  [[nodiscard]] Result<void> within_budget(Use use);
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
  WriteBudget budget_;
  bool resumed_ = false;  // the budget of a program before this one is known
  bool checked_ = true;
  bool salvaged_ = false;           // nothing of a database that was moved aside is left to do
  std::optional<Salvage> salvage_;  // begun
  bool swept_ = false;
  bool had_database_ = false;
  std::uint64_t home_device_ = 0;  // of the folder when it last had a database
  std::uint64_t counted_ = 0;      // of the VFS, already spent
  std::uint64_t picture_bytes_ = 0;
  SteadyTime next_retention_{};
};

}  // namespace kinglet::store
