// SPDX-License-Identifier: Apache-2.0
#include "store/history_copy.h"

#include <fstream>

#include "store/database/schema.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

constexpr auto kNever = [] { return false; };

// The copy as a history of its own in `folder`.
void lay_down(HistoryCopy& copy, const fs::path& folder) {
  const InputFile file = copy.take_file();
  std::string bytes(file.size(), '\0');
  ASSERT_OK(file.read_at(0, std::as_writable_bytes(std::span(bytes))));
  ASSERT_OK(write_file(folder / "kinglet.db", bytes, Overwrite::kReplace));
}

std::vector<std::string> names_of(HistoryCopy& copy) {
  std::vector<std::string> names;
  while (auto next = *copy.next_picture()) names.push_back(next->name);
  return names;
}

TEST(HistoryCopy, HasWhatWasOnTheDiskWhenItBeganAndNothingLater) {
  const ScratchFolder from;
  const ScratchFolder to;
  Store store(quiet_options(from.path()));
  const std::vector<std::uint64_t> before = put_visits(store, 20);
  ASSERT_OK(store.flush());
  Result<HistoryCopy> copy = HistoryCopy::make(from.path(), kNever);
  ASSERT_OK(copy);
  put_visits(store, 5);
  ASSERT_OK(store.flush());
  EXPECT_EQ(copy->visits(), 20U);
  lay_down(*copy, to.path());
  EXPECT_EQ(judge_history(to.path(), kNever)->visits, 20U);
  ASSERT_OK(fit_history(to.path()));
  Store other(quiet_options(to.path()));
  EXPECT_EQ(all_seqs(other), before);
  EXPECT_GT(other.next_seq(), before.back());
}

TEST(HistoryCopy, LeavesNoFileBehind) {
  const ScratchFolder folder;
  Store store(quiet_options(folder.path()));
  put_visits(store, 1);
  ASSERT_OK(store.flush());
  const Result<HistoryCopy> copy = HistoryCopy::make(folder.path(), kNever);
  ASSERT_OK(copy);
  EXPECT_FALSE(HistoryCopy::make(folder.path(), [] { return true; })) << "it was called off";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
  }
}

TEST(HistoryCopy, RowsOfPicturesThatAreNotThereSayThatTheyWereRemoved) {
  const ScratchFolder from;
  const ScratchFolder to;
  Store store(quiet_options(from.path()));
  const std::vector<std::uint64_t> seqs = put_visits(store, 2);
  for (const std::uint64_t seq : seqs) {
    store.add_pictures(seq, [] { return Pictures{.crop = "crop", .frame = "frame", .clip = {}}; });
  }
  ASSERT_OK(store.flush());
  Result<HistoryCopy> copy = HistoryCopy::make(from.path(), kNever);
  ASSERT_OK(copy);
  const std::vector<std::string> names = names_of(*copy);
  ASSERT_EQ(names.size(), 4U);
  for (const std::string& name : names) EXPECT_TRUE(is_picture_name(name)) << name;
  lay_down(*copy, to.path());
  for (const std::string& name : names) {
    if (name == names.front()) continue;
    fs::create_directories((to.path() / name).parent_path());
    fs::copy_file(from.path() / name, to.path() / name);
  }
  EXPECT_EQ(*fit_history(to.path()), 1U);
  Store other(quiet_options(to.path()));
  EXPECT_EQ(other.picture(visit_id(seqs.front()), Picture::kCrop).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(*other.picture(visit_id(seqs.back()), Picture::kCrop), "crop");
}

TEST(HistoryCopy, EveryOlderVersionIsTakenAndANewerOneIsNot) {
  for (int version = 1; version <= schema_steps().back().version; ++version) {
    const ScratchFolder from;
    const ScratchFolder to;
    {
      Database database = *Database::open(from.path() / "kinglet.db", OpenAs::kCreate);
      ASSERT_OK(migrate(database, schema_steps().first(static_cast<std::size_t>(version))));
    }
    Result<HistoryCopy> copy = HistoryCopy::make(from.path(), kNever);
    ASSERT_OK(copy);
    EXPECT_TRUE(names_of(*copy).empty());
    lay_down(*copy, to.path());
    const Result<ForeignHistory> judged = judge_history(to.path(), kNever);
    ASSERT_OK(judged);
    EXPECT_EQ(judged->version, version);
    ASSERT_OK(fit_history(to.path()));
    Database database = *Database::open(to.path() / "kinglet.db", OpenAs::kReadWrite);
    ASSERT_OK(database.execute("PRAGMA user_version = 999"));
    EXPECT_EQ(judge_history(to.path(), kNever).error().code, ErrorCode::kUnsupported);
  }
}

TEST(HistoryCopy, NamesOfPicturesAreThoseThatAreWrittenAndNoOthers) {
  const std::string id = visit_id(7);
  EXPECT_TRUE(is_picture_name("pictures/7/" + id + ".crop.jpg"));
  for (const std::string& name :
       {"pictures/8/" + id + ".crop.jpg", "pictures/7/" + id + ".png", "pictures/" + id + ".crop.jpg",
        "pictures/7/../7/" + id + ".crop.jpg", "/pictures/7/" + id + ".crop.jpg", id + ".crop.jpg", std::string()}) {
    EXPECT_FALSE(is_picture_name(name)) << name;
  }
}

}  // namespace
}  // namespace kinglet::store
