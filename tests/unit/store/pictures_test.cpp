// SPDX-License-Identifier: Apache-2.0
// What is swept out of the folder of pictures, and what never is: whatever is not a file that kinglet itself has put
// there.
#include "store/database/picture_files.h"

#include <fstream>
#include <set>

#include "engine/base/file.h"
#include "store/database/visit_database.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

const PictureFiles::Wanted kNothing = [](std::string_view, Picture) -> Result<bool> { return false; };

void put_file(const fs::path& path, std::string_view text = "the owner's") {
  fs::create_directories(path.parent_path());
  ASSERT_OK(write_file(path, text, Overwrite::kReplace));
}

std::set<std::string> files_below(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) names.insert(entry.path().lexically_relative(folder).string());
  }
  return names;
}

class PicturesTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path pictures() const { return folder_.path() / "pictures"; }
  void write(std::uint64_t number) const {
    ASSERT_OK(files_.write(visit_id(number), {.crop = "crop", .frame = "frame", .clip = "clip"}));
  }

  ScratchFolder folder_;
  PictureFiles files_{folder_.path()};
};

TEST_F(PicturesTest, OnlyFilesOfItsOwnMakingAreSwept) {
  write(1);
  const std::string id = visit_id(1);
  put_file(pictures() / "1" / (id + ".crop.jpg.Xy12ab"));  // a write that a power cut ended
  const std::set<std::string> foreign{
      "README",
      "holiday.jpg",
      "1/holiday.jpg",
      "1/" + id + ".crop.jpg.old",
      "1/" + id + ".crop.jpg.backup-of-may",
      "1/" + id,
      "2/" + id + ".crop.jpg",  // not at the place of this id
      id + ".crop.jpg",
      "backup/1/" + id + ".crop.jpg",
      "1/deeper/" + id + ".crop.jpg",
  };
  for (const std::string& name : foreign) put_file(pictures() / name);
  const auto found = files_.sweep(kNothing, true);
  ASSERT_OK(found);
  EXPECT_EQ(files_below(pictures()), foreign);
  EXPECT_EQ(found->strays, 4U);
  EXPECT_EQ(found->removed, 4U);
  EXPECT_EQ(found->foreign, 10U) << "a folder counts once";
}

TEST_F(PicturesTest, NoLinkIsFollowedAndNoneIsRemoved) {
  const ScratchFolder elsewhere;
  const std::string name = visit_id(1) + ".crop.jpg";
  put_file(elsewhere.path() / name);
  fs::create_directories(pictures() / "2");
  fs::create_symlink(elsewhere.path(), pictures() / "1");
  fs::create_symlink(elsewhere.path() / name, pictures() / "2" / (visit_id(2) + ".crop.jpg"));
  fs::create_directory_symlink("/", pictures() / "3");
  const auto found = files_.sweep(kNothing, true);
  ASSERT_OK(found);
  EXPECT_EQ(found->strays, 0U);
  EXPECT_EQ(found->foreign, 3U);
  EXPECT_TRUE(fs::exists(elsewhere.path() / name));
  EXPECT_TRUE(fs::is_symlink(pictures() / "2" / (visit_id(2) + ".crop.jpg")));
}

TEST_F(PicturesTest, BehindALinkOfTheOwnerPicturesAreKeptAndNothingIsClearedAway) {
  const ScratchFolder usb;
  for (int i = 0; i < 10; ++i) put_file(usb.path() / format_text("photo-{}.jpg", i));
  put_file(usb.path() / "9" / (visit_id(9) + ".crop.jpg"), "of another kinglet");
  const std::set<std::string> before = files_below(usb.path());
  fs::create_symlink(usb.path(), pictures());
  Lines log;
  StoreOptions options = quiet_options(folder_.path());
  options.log = log.sink();
  std::uint64_t seq = 0;
  {
    Store store(options);
    seq = put_visits(store, 1)[0];
    store.add_pictures(seq, [] { return Pictures{.crop = "crop", .frame = "frame", .clip = {}}; });
    ASSERT_OK(store.flush());
  }
  Store store(options);
  ASSERT_OK(store.flush());
  EXPECT_EQ(*store.picture(visit_id(seq), Picture::kCrop), "crop");
  EXPECT_EQ(files_below(usb.path()).size(), before.size() + 2);
  EXPECT_NE(log.text().find("10 things in"), std::string::npos) << log.text();
  EXPECT_NE(log.text().find("nothing is cleared away behind the link"), std::string::npos) << log.text();
  ASSERT_EQ(*store.erase(visit_id(seq)), Changing::kDone);
  EXPECT_EQ(files_below(usb.path()), before);
}

TEST_F(PicturesTest, AStartSaysWhatItSwept) {
  write(1);
  put_file(pictures() / "README");
  {
    Store store(quiet_options(folder_.path()));
  }
  for (const fs::path& path : moved_aside(folder_.path())) fs::remove(path);
  Lines log;
  StoreOptions options = quiet_options(folder_.path());
  options.log = log.sink();
  Store store(options);
  ASSERT_OK(store.flush());
  EXPECT_EQ(files_below(pictures()), std::set<std::string>{"README"});
  EXPECT_NE(log.text().find("3 picture files of no visit removed"), std::string::npos) << log.text();
  EXPECT_NE(log.text().find("1 thing in " + pictures().string() + " is not kinglet's and stays"), std::string::npos)
      << log.text();
}

// Visits with pictures, and what is left when the program ends without closing anything.
class LostDatabaseTest : public PicturesTest {
 protected:
  void SetUp() override {
    const ScratchFolder origin;
    Store store(quiet_options(origin.path()));
    for (int i = 0; i < 30; ++i) {
      const std::uint64_t seq = put_visits(store, 1)[0];
      store.add_pictures(seq, [] { return Pictures{.crop = "crop", .frame = "frame", .clip = "clip"}; });
      ASSERT_OK(store.flush());
    }
    fs::copy(origin.path(), folder_.path(), fs::copy_options::recursive);
    file_ = database_file(folder_.path());
    before_ = files_below(pictures());
    ASSERT_EQ(before_.size(), 90U);
  }
  void start() {
    StoreOptions options = quiet_options(folder_.path());
    options.log = log_.sink();
    store_.emplace(options);
    ASSERT_OK(store_->flush());
  }

  fs::path file_;
  std::set<std::string> before_;
  Lines log_;
  std::optional<Store> store_;
};

TEST_F(LostDatabaseTest, AnEmptiedDatabaseIsDamageAndThePicturesStay) {
  fs::resize_file(file_, 0);
  for (const char* ending : {"-wal", "-shm"}) fs::remove(file_.string() + ending);
  start();
  EXPECT_EQ(files_below(pictures()), before_);
  EXPECT_EQ(store_->status().moved_aside, 1U);
  EXPECT_EQ(moved_aside(folder_.path()).size(), 1U);
  EXPECT_NE(log_.text().find("the database is empty, but pictures of earlier visits are there"), std::string::npos)
      << log_.text();
  EXPECT_GT(store_->next_seq(), 30U);
  store_.reset();
  start();
  EXPECT_EQ(store_->status().moved_aside, 0U) << "it is told once";
  EXPECT_EQ(files_below(pictures()), before_);
}

TEST_F(LostDatabaseTest, AMissingDatabaseIsDamageAndThePicturesStay) {
  for (const char* ending : {"", "-wal", "-shm"}) fs::remove(file_.string() + ending);
  start();
  EXPECT_EQ(files_below(pictures()), before_);
  EXPECT_EQ(moved_aside(folder_.path()).size(), 1U);
  EXPECT_NE(log_.text().find("the database is missing, but pictures"), std::string::npos) << log_.text();
}

TEST_F(LostDatabaseTest, NumbersAloneShowThatThereWasAHistory) {
  for (const char* ending : {"", "-wal", "-shm"}) fs::remove(file_.string() + ending);
  fs::remove_all(pictures());
  start();
  EXPECT_NE(log_.text().find("the database is missing, but numbers"), std::string::npos) << log_.text();
}

TEST_F(LostDatabaseTest, WhatTheJournalStillHoldsIsSaved) {
  fs::resize_file(file_, 0);
  start();
  EXPECT_EQ(all_seqs(*store_).size(), 30U) << log_.text();
  EXPECT_EQ(*store_->picture(visit_id(7), Picture::kFrame), "frame");
}

TEST(StoreFirstStart, IsNoDamage) {
  const ScratchFolder folder;
  put_file(folder.path() / "pictures" / "README");
  Store store(quiet_options(folder.path()));
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().moved_aside, 0U);
  EXPECT_EQ(store.status().state, StoreState::kDisk);
}

}  // namespace
}  // namespace kinglet::store
