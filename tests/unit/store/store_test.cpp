// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <array>

#include "store/database/visit_database.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST_F(StoreTest, AVisitComesBackWithAllItsMembersAfterARestart) {
  open();
  visits::Visit visit = make_visit(store().next_seq());
  store().put(visit);
  ASSERT_OK(store().flush());
  open();
  const auto found = store().visit(visit.id);
  ASSERT_OK(found);
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->row.visit, visit);
  EXPECT_EQ(store().status().state, StoreState::kDisk);
}

TEST_F(StoreTest, HowManyThereWereAndWhereFollowTheVisit) {
  open();
  visits::Visit visit = make_visit(store().next_seq());
  store().put(visit);
  ASSERT_OK(store().flush());
  visit.count = 3;
  visit.best_box = Area{.left = 0.5, .top = 0, .width = 0.5, .height = 1};
  store().put(visit);
  ASSERT_OK(store().flush());
  EXPECT_EQ(store().visit(visit.id).value()->row.visit, visit);
}

TEST_F(StoreTest, ANumberOrAPlaceThatCannotBeReadsAsUnknown) {
  open();
  const std::vector<std::uint64_t> seqs = put_visits(store(), 4);
  ASSERT_OK(store().flush());
  {
    Database database = *Database::open(folder_.path() / "kinglet.db", OpenAs::kReadWrite);
    for (const std::size_t i : {0, 1, 2, 3}) {
      constexpr std::array kNoise{"box_width = 0", "box_x = 0.9", "box_y = -1", "box_height = 'x', individuals = 0"};
      ASSERT_OK(database.execute(format_text("UPDATE visits SET {} WHERE seq = {}", kNoise.at(i), seqs.at(i))));
    }
  }
  open();
  const auto page = store().visits({});
  ASSERT_OK(page);
  ASSERT_EQ(page->items.size(), 4U);
  for (const VisitView& view : page->items) {
    EXPECT_EQ(view.row.visit.best_box, std::nullopt);
    EXPECT_GE(view.row.visit.count, 1U);
  }
}

TEST_F(StoreTest, ThePredictionsOfAVisitAreKeptAsLongAsItIs) {
  open();
  visits::Visit visit = make_visit(store().next_seq());
  const std::string first = "prd_01JTCX8M2Q4R6T8V0W2Y4Z6B8C";
  visit.predictions = {{first, [] { return R"({"id":"first"})"; }},
                       {visit.best_prediction, [] { return R"({"id":"best"})"; }},
                       {"prd_unknown", {}}};
  store().put(visit);
  const auto answers = [&] {
    std::vector<std::string> found;
    for (const std::string& id : {first, visit.best_prediction, std::string("prd_unknown"), std::string("prd_none")}) {
      found.push_back(store().prediction(id).value().value_or("-"));
    }
    return found;
  };
  const std::vector<std::string> all{R"({"id":"first"})", R"({"id":"best"})", "-", "-"};
  EXPECT_EQ(answers(), all) << "while it waits";
  ASSERT_OK(store().flush());
  open();
  EXPECT_EQ(answers(), all) << "after a restart";
  ASSERT_OK(store().erase(visit.id));
  EXPECT_EQ(answers(), (std::vector<std::string>{"-", "-", "-", "-"})) << "after the visit";
}

TEST_F(StoreTest, AVisitIsSeenAtOnceAndAfterTheFlushOnce) {
  open();
  ASSERT_OK(store().flush());  // its own first look at the disk is over then
  const auto seqs = put_visits(store(), 3);
  EXPECT_EQ(all_seqs(store()), seqs);
  EXPECT_EQ(store().status().waiting_visits, 3U);
  ASSERT_OK(store().flush());
  EXPECT_EQ(all_seqs(store()), seqs);
  EXPECT_EQ(store().status().waiting_visits, 0U);
  EXPECT_EQ(store().status().visits, 3U);
}

TEST_F(StoreTest, AnOpenVisitIsShownButWrittenOnlyWhenItEnds) {
  open();
  visits::Visit visit = make_visit(store().next_seq());
  visit.state = visits::VisitState::kOpen;
  store().put(visit);
  ASSERT_OK(store().flush());
  EXPECT_EQ(store().status().waiting_visits, 1U);
  EXPECT_EQ(all_seqs(store()).size(), 1U);
  visit.state = visits::VisitState::kEnded;
  visit.model_result.species_id = "sturnus-vulgaris";
  store().put(visit);
  ASSERT_OK(store().flush());
  EXPECT_EQ(store().status().waiting_visits, 0U);
  EXPECT_EQ((*store().visit(visit.id))->row.visit, visit);
}

TEST_F(StoreTest, PagesNeitherSkipNorRepeatWhenVisitsArrive) {
  open();
  const auto first = put_visits(store(), 5);
  ASSERT_OK(store().flush());
  const auto page = store().visits({.limit = 3});
  ASSERT_OK(page);
  EXPECT_EQ(seqs_of(*page), (std::vector{first[4], first[3], first[2]}));
  EXPECT_TRUE(page->has_more);
  put_visits(store(), 4);
  const auto rest = store().visits({.limit = 3, .after_seq = page->items.back().row.visit.seq});
  ASSERT_OK(rest);
  EXPECT_EQ(seqs_of(*rest), (std::vector{first[1], first[0]}));
  EXPECT_FALSE(rest->has_more);
}

TEST_F(StoreTest, FiltersHoldForWhatIsWrittenAndForWhatWaits) {
  open();
  const auto fill = [&] {
    visits::Visit robin = make_visit(store().next_seq(), "erithacus-rubecula", morning() + hours(1));
    robin.model_result.score = 0.5F;
    robin.source = "balcony";
    store().put(robin);
    put_visits(store(), 1, "turdus-merula", morning());
  };
  fill();
  ASSERT_OK(store().flush());
  fill();
  EXPECT_EQ(seqs_of(*store().visits({.species = {"erithacus-rubecula"}})), (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(seqs_of(*store().visits({.species = {"erithacus-rubecula", "turdus-merula"}})).size(), 4U);
  EXPECT_EQ(seqs_of(*store().visits({.min_score = 0.9})), (std::vector<std::uint64_t>{4, 2}));
  EXPECT_EQ(seqs_of(*store().visits({.source = "balcony"})), (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(seqs_of(*store().visits({.but_for = {"balcony"}})), (std::vector<std::uint64_t>{4, 2}));
  EXPECT_EQ(seqs_of(*store().visits({.species = {"turdus-merula"}, .but_for = {"attic", "feeder"}})),
            (std::vector<std::uint64_t>{}));
  EXPECT_EQ(seqs_of(*store().visits({.since = morning() + hours(1)})), (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(seqs_of(*store().visits({.until = morning() + hours(1)})), (std::vector<std::uint64_t>{4, 2}));
  ASSERT_OK(store().review(visit_id(1), make_review(visits::Verdict::kConfirmed), {}));
  EXPECT_EQ(seqs_of(*store().visits({.review = visits::Verdict::kConfirmed})), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(seqs_of(*store().visits({.review = visits::Verdict::kNone})), (std::vector<std::uint64_t>{4, 3, 2}));
}

TEST_F(StoreTest, VisitsThatHaveEndedAreFoundBehindOpenOnesWrittenOrWaiting) {
  open();
  const auto fill = [&] {
    put_visits(store(), 1);
    visits::Visit stays = make_visit(store().next_seq());
    stays.state = visits::VisitState::kOpen;
    store().put(stays);
  };
  fill();
  ASSERT_OK(store().flush());
  EXPECT_EQ(seqs_of(*store().visits({.limit = 1, .ended = true})), (std::vector<std::uint64_t>{1}));
  fill();
  EXPECT_EQ(seqs_of(*store().visits({.ended = true})), (std::vector<std::uint64_t>{3, 1}));
}

TEST_F(StoreTest, AReviewIsKeptApartFromWhatTheModelSaid) {
  open();
  const visits::Visit visit = make_visit(store().next_seq());
  store().put(visit);
  const visits::Review review = make_review(visits::Verdict::kCorrected, "turdus-philomelos");
  const auto done = store().review(visit.id, review, {});
  ASSERT_OK(done);
  EXPECT_EQ(done->what, Changing::kDone);
  open();
  const visits::Visit found = (*store().visit(visit.id))->row.visit;
  EXPECT_EQ(found.review, review);
  EXPECT_EQ(found.model_result, visit.model_result);
  EXPECT_EQ(found.species_id(), "turdus-philomelos");
  EXPECT_EQ(store().species()->front().species_id, "turdus-philomelos");
}

TEST_F(StoreTest, AReviewOfAnOpenVisitOutlivesItsLaterUpdates) {
  open();
  visits::Visit visit = make_visit(store().next_seq());
  visit.state = visits::VisitState::kOpen;
  store().put(visit);
  ASSERT_OK(store().review(visit.id, make_review(visits::Verdict::kNotABird), {}));
  visit.state = visits::VisitState::kEnded;
  visit.model_result.score = 0.99F;
  store().put(visit);
  ASSERT_OK(store().flush());
  open();
  const visits::Visit found = (*store().visit(visit.id))->row.visit;
  EXPECT_EQ(found.review.verdict, visits::Verdict::kNotABird);
  EXPECT_FLOAT_EQ(found.model_result.score, 0.99F);
  EXPECT_TRUE(store().species()->empty());
}

TEST_F(StoreTest, AReviewOfAnOlderStateIsStale) {
  open();
  const visits::Visit visit = make_visit(store().next_seq());
  store().put(visit);
  const std::uint64_t seen = (*store().visit(visit.id))->row.change;
  ASSERT_EQ(store().review(visit.id, make_review(visits::Verdict::kConfirmed), seen)->what, Changing::kDone);
  const auto again = store().review(visit.id, make_review(visits::Verdict::kNotABird), seen);
  ASSERT_OK(again);
  EXPECT_EQ(again->what, Changing::kStale);
  EXPECT_EQ(again->visit->row.visit.review.verdict, visits::Verdict::kConfirmed);
  EXPECT_EQ(store().review(visit_id(99), make_review(visits::Verdict::kConfirmed), {})->what, Changing::kNotFound);
}

TEST_F(StoreTest, ADeletedVisitDoesNotComeBackByALateUpdate) {
  open();
  const visits::Visit visit = make_visit(store().next_seq());
  store().put(visit);
  ASSERT_OK(store().flush());
  EXPECT_EQ(*store().erase(visit.id), Changing::kDone);
  EXPECT_EQ(*store().erase(visit.id), Changing::kNotFound);
  store().put(visit);
  ASSERT_OK(store().flush());
  EXPECT_TRUE(all_seqs(store()).empty());
}

TEST_F(StoreTest, ADeletedVisitStaysDeletedHoweverManyAreDeletedAfterIt) {
  open();
  visits::Visit visit = make_visit(store().next_seq());
  visit.state = visits::VisitState::kOpen;
  store().put(visit);
  ASSERT_EQ(*store().erase(visit.id), Changing::kDone);
  for (const std::uint64_t seq : put_visits(store(), 100)) ASSERT_EQ(*store().erase(visit_id(seq)), Changing::kDone);
  visit.state = visits::VisitState::kEnded;
  store().put(visit);
  ASSERT_OK(store().flush());
  EXPECT_TRUE(all_seqs(store()).empty());
}

TEST_F(StoreTest, AnUpdateOfARowThatIsGoneWritesNothing) {
  open();
  const std::uint64_t seq = put_visits(store(), 1)[0];
  ASSERT_OK(store().flush());
  store_.reset();
  VisitDatabase database = *VisitDatabase::open(folder_.path());
  PendingVisit update{.row = **database.find(seq), .pictures = nullptr, .reviewed = true, .stored = true};
  ASSERT_EQ(*database.erase(visit_id(seq), {}), true);
  update.row.visit.predictions.push_back({.id = "prd_1", .answer = [] { return "{}"; }});
  const auto entry = std::make_shared<const PendingVisit>(update);
  ASSERT_OK(database.write(std::span(&entry, 1), {}, {}));
  EXPECT_EQ(database.visit_count().value(), 0U);
  EXPECT_EQ(database.connection().integer_of("SELECT count(*) FROM predictions").value(), 0);
}

TEST_F(StoreTest, PicturesOfAVisitThatIsGoneAreNotWritten) {
  StoreOptions options = quiet_options(folder_.path());
  options.retention.keep_visits = std::chrono::days(10);
  open(options);
  const std::uint64_t seq = put_visits(store(), 1, "turdus-merula", morning() - std::chrono::days(30))[0];
  // They come when the row was written, and before what is too old goes.
  store().add_pictures(seq, [] { return Pictures{.crop = "crop", .frame = {}, .clip = {}}; });
  for (int i = 0; i < 3; ++i) ASSERT_OK(store().flush());
  EXPECT_TRUE(all_seqs(store()).empty());
  EXPECT_EQ(store().status().waiting_visits, 0U);
  EXPECT_FALSE(PictureFiles(folder_.path()).size(visit_id(seq), Picture::kCrop));
}

TEST_F(StoreTest, NumbersRiseAcrossRestarts) {
  open();
  const std::uint64_t before = put_visits(store(), 2).back();
  open();
  EXPECT_GT(store().next_seq(), before);
}

TEST_F(StoreTest, NumbersAreNotUsedAgainWhenTheDatabaseIsLost) {
  open();
  const std::uint64_t before = put_visits(store(), 2).back();
  store_.reset();
  std::filesystem::remove(database_file(folder_.path()));
  open();
  EXPECT_GT(store().next_seq(), before);
}

TEST_F(StoreTest, MoreNumbersThanABlockAreReservedInTime) {
  open();
  const std::uint64_t last = put_visits(store(), static_cast<int>(kSequenceBlock) + 1).back();
  ASSERT_OK(store().flush());
  EXPECT_GT(read_reserved(folder_.path()), last);
}

TEST_F(StoreTest, TheTimeOfTheNewestIdIsRemembered) {
  StoreOptions options = quiet_options(folder_.path());
  options.newest_id_ms = [] { return std::uint64_t{1'777'875'129'318}; };
  open(std::move(options));
  put_visits(store(), 1);
  ASSERT_OK(store().flush());
  open();
  EXPECT_EQ(store().last_id_ms(), 1'777'875'129'318U);
}

TEST_F(StoreTest, AClockThatJumpsNeitherReordersNorLosesVisits) {
  open();
  const WallTime epoch{};
  const std::vector<WallTime> times{morning(), epoch, morning() + hours(24 * 365 * 60), epoch + seconds(5), morning()};
  for (const WallTime time : times) {
    visits::Visit visit = make_visit(store().next_seq(), "turdus-merula", time);
    visit.clock_synced = time == morning();
    store().put(visit);
  }
  ASSERT_OK(store().flush());
  EXPECT_EQ(all_seqs(store()), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
}

TEST_F(StoreTest, TheChangeCountRisesWithEachChangeAndNotWithReading) {
  open();
  const std::uint64_t start = store().change_count();
  put_visits(store(), 1);
  const std::uint64_t after_put = store().change_count();
  EXPECT_GT(after_put, start);
  (void)store().species();
  EXPECT_EQ(store().change_count(), after_put);
  ASSERT_OK(store().review(visit_id(1), make_review(visits::Verdict::kConfirmed), {}));
  EXPECT_GT(store().change_count(), after_put);
}

TEST_F(StoreTest, PicturesAreFoundByTheIdAloneBeforeAndAfterTheyAreWritten) {
  open();
  const visits::Visit visit = make_visit(store().next_seq());
  store().put(visit);
  store().add_pictures(visit.seq, [] { return Pictures{.crop = "crop", .frame = "frame", .clip = {}}; });
  ASSERT_OK(store().flush());
  EXPECT_EQ(*store().picture(visit.id, Picture::kCrop), "crop");
  EXPECT_EQ(*store().picture(visit.id, Picture::kFrame), "frame");
  EXPECT_EQ(store().picture(visit.id, Picture::kClip).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store().picture("../../etc/passwd", Picture::kCrop).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store().status().waiting_visits, 0U);
}

TEST_F(StoreTest, PicturesThatComeAfterTheVisitWasWrittenJoinIt) {
  open();
  const visits::Visit visit = make_visit(store().next_seq());
  store().put(visit);
  ASSERT_OK(store().flush());
  store().add_pictures(visit.seq, [] { return Pictures{.crop = "crop", .frame = {}, .clip = {}}; });
  ASSERT_OK(store().flush());
  open();
  EXPECT_EQ(*store().picture(visit.id, Picture::kCrop), "crop");
  EXPECT_EQ((*store().visit(visit.id))->row.visit, visit);
}

TEST_F(StoreTest, ADeletedVisitTakesItsPicturesAlong) {
  open();
  const visits::Visit visit = make_visit(store().next_seq());
  store().put(visit);
  store().add_pictures(visit.seq, [] { return Pictures{.crop = "crop", .frame = "frame", .clip = "clip"}; });
  ASSERT_OK(store().flush());
  const PictureFiles files(folder_.path());
  ASSERT_OK(files.read(visit.id, Picture::kClip));
  ASSERT_EQ(*store().erase(visit.id), Changing::kDone);
  for (const Picture kind : {Picture::kCrop, Picture::kFrame, Picture::kClip}) EXPECT_FALSE(files.read(visit.id, kind));
}

}  // namespace
}  // namespace kinglet::store
