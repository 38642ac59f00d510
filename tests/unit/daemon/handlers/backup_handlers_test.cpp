// SPDX-License-Identifier: Apache-2.0
// The routes by which a box goes into a file and comes out of one, between two folders of states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/backup/change.h"
#include "daemon/backup/desk.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/file.h"
#include "store/store.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/daemon/handlers/asked.h"

namespace kinglet::daemon::http {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class BackupHandlers : public ::testing::Test {
 protected:
  static backup::Desk desk_of(const fs::path& state) {
    return {.places = {.state = state, .models = {}, .etc = {}},
            .judge_settings = [](const std::string&, const fs::path&) -> Result<JudgedSettings> { return {}; },
            .called_off = [] { return false; }};
  }
  BackupView view_of(const backup::Desk& desk) {
    return {.desk = desk, .long_answers = slots_, .log = [this](LogLevel, std::string_view line) {
              said_ += std::string(line) + "\n";
            }};
  }
  // A history with one visit.
  static void fill(const fs::path& state) {
    store::Store store({.folder = state});
    visits::Visit visit{.id = "vis_00000000000000000000000001", .seq = store.next_seq(), .source = "camera"};
    visit.state = visits::VisitState::kEnded;
    visit.started_at = std::chrono::system_clock::now();
    visit.model_result.species_id = "parus-major";
    store.put(visit);
    ASSERT_TRUE(store.flush());
  }
  // As the server would send it.
  std::string sent(const backup::Desk& desk) {
    const Reply reply = get_backup(view_of(desk), {.method = "GET"});
    EXPECT_EQ(reply.status, 200) << reply.body;
    std::string file;
    for (bool goes_on = reply.status == 200; goes_on;) {
      std::string piece;
      const Result<bool> more = reply.more(piece);
      EXPECT_TRUE(more);
      file += piece;
      goes_on = more && *more;
    }
    return file;
  }
  Reply restore(const backup::Desk& desk, const std::string& file) {
    Call call{.method = "POST"};
    call.read_body = [&](const TakePiece& take) { return take(file); };
    return post_restore(view_of(desk), call);
  }
  // But for folders.
  static std::ptrdiff_t files_in(const fs::path& folder) {
    return std::count_if(fs::recursive_directory_iterator(folder), {},
                         [](const fs::directory_entry& entry) { return !entry.is_directory(); });
  }

  const kinglet::testing::ScratchFolder from_;
  const kinglet::testing::ScratchFolder to_;
  const backup::Desk old_ = desk_of(from_.path());
  const backup::Desk new_ = desk_of(to_.path());
  Slots slots_{{8, 1}, 8};
  std::string said_;
};

TEST_F(BackupHandlers, WhatIsSentIsTakenElsewhereAndWaitsForARestart) {
  fill(from_.path());
  const Reply reply = restore(new_, sent(old_));
  ASSERT_EQ(reply.status, 202) << reply.body;
  const Parsed json = Parsed::parse(reply.body);
  EXPECT_EQ(json["visits"], 1);
  EXPECT_EQ(json["waits_for_restart"], true);
  EXPECT_FALSE(fs::exists(to_.path() / "kinglet.db")) << "a history that is open is not touched";
  EXPECT_THAT(said_, HasSubstr("backup wished by"));
  EXPECT_THAT(said_, HasSubstr("with 1 visits waits for a restart"));
}

TEST_F(BackupHandlers, WhatWaitsIsToldUntilItIsCalledOff) {
  EXPECT_EQ(get_restore(view_of(new_), {}).status, 204);
  EXPECT_EQ(delete_restore(view_of(new_), {.method = "DELETE"}).problem.slug, "not-found");
  fill(from_.path());
  backup::Desk patient = new_;
  patient.judge_settings = [](const std::string&, const fs::path&) -> Result<JudgedSettings> {
    return JudgedSettings{.kept = {}, .left_out = {{.key = "decide.later", .why = "unknown"}}};
  };
  const Reply taken = restore(patient, sent(old_));
  ASSERT_EQ(taken.status, 202) << taken.body;
  EXPECT_EQ(get_restore(view_of(new_), {}).body, taken.body);
  ASSERT_TRUE(backup::is_waiting(to_.path()));
  EXPECT_EQ(delete_restore(view_of(new_), {.method = "DELETE"}).status, 204);
  EXPECT_THAT(said_, HasSubstr("was called off by"));
  EXPECT_FALSE(backup::is_waiting(to_.path()));
  EXPECT_EQ(get_restore(view_of(new_), {}).status, 204);
  EXPECT_EQ(files_in(to_.path()), 0) << "nothing of it stays";
}

TEST_F(BackupHandlers, WhatWaitsIsNotCalledOffWhileAnotherComesIn) {
  fill(from_.path());
  const std::string file = sent(old_);
  ASSERT_EQ(restore(new_, file).status, 202);
  {
    const auto another = backup::Incoming::begin(new_.places, backup::Carry::kShared);
    ASSERT_TRUE(another);
    EXPECT_EQ(delete_restore(view_of(new_), {.method = "DELETE"}).problem.slug, "busy");
  }
  EXPECT_TRUE(backup::is_waiting(to_.path()));
}

TEST_F(BackupHandlers, APlanThatTellsNothingOfItselfWaitsAllTheSame) {
  fill(from_.path());
  ASSERT_EQ(restore(new_, sent(old_)).status, 202);
  ASSERT_TRUE(write_file(to_.path() / "restore/ready/plan.json",
                         R"({"items": [], "etc": "", "about": {"visits": "many"}})", Overwrite::kReplace));
  EXPECT_EQ(Parsed::parse(get_restore(view_of(new_), {}).body)["visits"], 0);
  ASSERT_TRUE(write_file(to_.path() / "restore/ready/plan.json", "{", Overwrite::kReplace));
  EXPECT_EQ(get_restore(view_of(new_), {}).status, 200);
  EXPECT_EQ(delete_restore(view_of(new_), {.method = "DELETE"}).status, 204);
}

TEST_F(BackupHandlers, WhatIsNoBackupIsRefusedAndNothingOfItStays) {
  fill(from_.path());
  const std::string file = sent(old_);
  for (const std::string& bytes : {std::string(), std::string("no archive at all"), file.substr(0, file.size() / 2)}) {
    EXPECT_EQ(restore(new_, bytes).problem.slug, "bad-backup");
  }
  EXPECT_EQ(files_in(to_.path()), 0);
}

TEST_F(BackupHandlers, SettingsThatTheStartWouldRefuseAreRefusedNow) {
  backup::Desk strict = new_;
  strict.judge_settings = [](const std::string&, const fs::path&) -> Result<JudgedSettings> {
    return fail(ErrorCode::kConfig, "gate.max_fps = 900: expected less");
  };
  const Reply reply = restore(strict, sent(old_));
  EXPECT_EQ(reply.problem.slug, "bad-backup");
  EXPECT_THAT(reply.problem.detail, HasSubstr("gate.max_fps = 900"));
}

// The next start is not as patient with them as a restore.
TEST_F(BackupHandlers, SettingsAreWrittenAnewAlsoWhereNothingIsLeftOut) {
  fill(from_.path());
  ASSERT_TRUE(write_file(from_.path() / "settings.toml", "[later]\n[decide]\nmin_score = 0.55\n", Overwrite::kReplace));
  const config::Settings kept{{"decide.min_score", 0.55}};
  backup::Desk patient = new_;
  patient.judge_settings = [&](const std::string& text, const fs::path&) -> Result<JudgedSettings> {
    EXPECT_THAT(text, HasSubstr("[later]"));
    return JudgedSettings{.kept = kept, .left_out = {}};
  };
  ASSERT_EQ(restore(patient, sent(old_)).status, 202);
  EXPECT_EQ(read_file(to_.path() / "restore/ready/state/settings.toml", 10'000), config::settings_text(kept));
}

TEST_F(BackupHandlers, ABodyThatBreaksOffIsNoBackup) {
  Call call{.method = "POST"};
  call.read_body = [](const TakePiece&) -> Result<void> { return fail(ErrorCode::kBadData, "it ended early"); };
  EXPECT_THAT(post_restore(view_of(new_), call).problem.detail, HasSubstr("it ended early"));
  EXPECT_EQ(post_restore(view_of(new_), {.method = "POST"}).problem.slug, "bad-backup");
}

TEST_F(BackupHandlers, WhereNothingIsKeptThereIsNothingToCarry) {
  const backup::Desk nowhere = desk_of({});
  EXPECT_EQ(get_backup(view_of(nowhere), {}).problem.slug, "not-found");
  EXPECT_EQ(restore(nowhere, "").problem.slug, "not-found");
}

TEST_F(BackupHandlers, ItTakesAPlaceAmongTheLongAnswers) {
  {
    const Reply first = get_backup(view_of(old_), {});
    EXPECT_EQ(get_backup(view_of(old_), {}).problem.slug, "too-many-streams");
  }
  EXPECT_EQ(get_backup(view_of(old_), {}).status, 200);
}

}  // namespace
}  // namespace kinglet::daemon::http
