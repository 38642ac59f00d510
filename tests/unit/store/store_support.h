// SPDX-License-Identifier: Apache-2.0
// Why: folders, visits and clocks that the tests of the store share.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/format.h"
#include "engine/base/mutex.h"
#include "store/store.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::store {

using kinglet::testing::ScratchFolder;

// Overwrites `size` bytes of the file with noise.
inline void damage(const std::filesystem::path& path, std::uint64_t offset, std::size_t size) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  for (std::size_t i = 0; i < size; ++i) file.put(static_cast<char>(i * 37 + 11));
  ASSERT_TRUE(file.good());
}

// 2026-05-04T06:12:09.318Z, a time without anything special.
inline WallTime morning() { return WallTime(std::chrono::milliseconds(1'777'875'129'318)); }

// "vis_" and a ULID that belongs to `number`.
inline std::string visit_id(std::uint64_t number) {
  constexpr std::string_view kLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string id = "vis_00000000000000000000000000";
  for (std::size_t place = id.size(); number > 0; number /= 32) id[--place] = kLetters[number % 32];
  return id;
}

// An ended visit with every member filled.
inline visits::Visit make_visit(std::uint64_t seq, const std::string& species = "turdus-merula",
                                WallTime at = morning()) {
  visits::Visit visit;
  visit.id = visit_id(seq);
  visit.seq = seq;
  visit.state = visits::VisitState::kEnded;
  visit.source = "feeder";
  visit.started_at = at;
  visit.duration = std::chrono::milliseconds(34'800);
  visit.clock_synced = true;
  visit.model_result = {.species_id = species,
                        .score = 0.93F,
                        .frames_seen = 212,
                        .frames_agreeing = 188,
                        .top = {{species, "Turdus merula (Blackbird)", "Turdus merula", "Blackbird", 412, 0.93F},
                                {"sturnus-vulgaris", "Star \"quoted\", with comma", "Sturnus vulgaris", "", 7, 0.02F}},
                        .model_name = "kinglet-feeder",
                        .model_digest = "sha256:9f2c"};
  visit.unusual = true;
  visit.best_prediction = "prd_01JTCX8M2Q4R6T8V0W2Y4Z6B8D";
  visit.best_crop = {312, 88, 640, 641};
  visit.best_box = Area{.left = 0.3125, .top = 0.2, .width = 0.14, .height = 0.25};
  visit.count = 2;
  return visit;
}

inline visits::Review make_review(visits::Verdict verdict, const std::string& species = {}) {
  return {.verdict = verdict,
          .species_id = species,
          .note = "speckled breast",
          .reviewed_at = morning() + std::chrono::hours(1),
          .reviewed_by = "phone"};
}

// Options whose writer does nothing by itself within a test: flush() is called instead.
inline StoreOptions quiet_options(const std::filesystem::path& folder) {
  StoreOptions options;
  options.folder = folder;
  options.flush_interval = std::chrono::hours(1);
  options.now = [] { return morning(); };
  return options;
}

inline std::vector<std::uint64_t> seqs_of(const VisitPage& page) {
  std::vector<std::uint64_t> seqs;
  for (const VisitView& view : page.items) seqs.push_back(view.row.visit.seq);
  return seqs;
}

// Every visit, oldest first.
inline std::vector<std::uint64_t> all_seqs(Store& store) {
  const Result<VisitPage> page = store.visits({.limit = 100'000, .descending = false});
  EXPECT_TRUE(page) << describe(page.error());
  return page ? seqs_of(*page) : std::vector<std::uint64_t>{};
}

// Puts `count` visits with new numbers and gives these.
inline std::vector<std::uint64_t> put_visits(Store& store, int count, const std::string& species = "turdus-merula",
                                             WallTime at = morning()) {
  std::vector<std::uint64_t> seqs;
  for (int i = 0; i < count; ++i) {
    seqs.push_back(store.next_seq());
    store.put(make_visit(seqs.back(), species, at));
  }
  return seqs;
}

// The log as a list.
class Lines {
 public:
  [[nodiscard]] LogSink sink() {
    return [this](LogLevel, std::string_view text) {
      MutexLock lock(mutex_);
      lines_.emplace_back(text);
    };
  }
  [[nodiscard]] std::string text() const {
    MutexLock lock(mutex_);
    std::string all;
    for (const std::string& line : lines_) all += line + "\n";
    return all;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ KINGLET_GUARDED_BY(mutex_);
};

#define ASSERT_OK(...)                                                          \
  do {                                                                          \
    const auto& checked_result = (__VA_ARGS__);                                 \
    ASSERT_TRUE(checked_result) << ::kinglet::describe(checked_result.error()); \
  } while (false)

// A store in a folder of its own, opened as often as a test likes.
class StoreTest : public ::testing::Test {
 protected:
  void open(StoreOptions options) {
    store_.reset();
    store_ = std::make_unique<Store>(std::move(options));
  }
  void open() { open(quiet_options(folder_.path())); }
  Store& store() { return *store_; }

  ScratchFolder folder_;
  std::unique_ptr<Store> store_;
};

}  // namespace kinglet::store
