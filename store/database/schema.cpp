// SPDX-License-Identifier: Apache-2.0
#include "store/database/schema.h"

#include "engine/base/format.h"

namespace kinglet::store {
namespace {

// visits: one row a visit. What the model said and what a person said are columns of their own; no statement of ours
//   changes both. counted_as: the species it counts for, empty for "not a bird". day, hour: local, when it began.
//   change: value of the change counter at its last change. *_ms: Unix milliseconds, or a length of time.
// daily_counts, past_species: what is kept of visits that retention has removed.
constexpr std::string_view kVisits = R"(
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE visits(
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, change INTEGER NOT NULL, open INTEGER NOT NULL,
  source TEXT NOT NULL, started_ms INTEGER NOT NULL, duration_ms INTEGER NOT NULL, clock_synced INTEGER NOT NULL,
  day TEXT NOT NULL, hour INTEGER NOT NULL, counted_as TEXT NOT NULL,
  species_id TEXT NOT NULL, score REAL NOT NULL, frames_seen INTEGER NOT NULL, frames_agreeing INTEGER NOT NULL,
  top TEXT NOT NULL, model_name TEXT NOT NULL, model_digest TEXT NOT NULL, unusual INTEGER NOT NULL,
  best_prediction TEXT NOT NULL, crop_x INTEGER NOT NULL, crop_y INTEGER NOT NULL, crop_width INTEGER NOT NULL,
  crop_height INTEGER NOT NULL,
  verdict INTEGER NOT NULL DEFAULT 0, review_species_id TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '',
  reviewed_ms INTEGER, reviewed_by TEXT NOT NULL DEFAULT '');
CREATE INDEX visits_species ON visits(counted_as);
CREATE INDEX visits_best ON visits(counted_as, score);
CREATE INDEX visits_day ON visits(day, counted_as, hour);
CREATE TABLE daily_counts(
  day TEXT NOT NULL, species_id TEXT NOT NULL, hour INTEGER NOT NULL, visits INTEGER NOT NULL,
  PRIMARY KEY(day, species_id, hour)) WITHOUT ROWID;
CREATE TABLE past_species(
  species_id TEXT PRIMARY KEY, first_seq INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_seq INTEGER NOT NULL,
  last_ms INTEGER NOT NULL) WITHOUT ROWID;
)";

// One row a span of some minutes: how many frames and answers, and how long an answer took.
constexpr std::string_view kThroughput = R"(
CREATE TABLE throughput(
  row INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, clock_synced INTEGER NOT NULL, span_ms INTEGER NOT NULL,
  frames INTEGER NOT NULL, images INTEGER NOT NULL, accepted INTEGER NOT NULL, latency_p50_ms REAL NOT NULL,
  latency_p99_ms REAL NOT NULL);
)";

// Sizes of the files of a visit: NULL there was none, 0 it was removed before the visit.
constexpr std::string_view kPictures = R"(
ALTER TABLE visits ADD COLUMN crop_bytes INTEGER;
ALTER TABLE visits ADD COLUMN frame_bytes INTEGER;
ALTER TABLE visits ADD COLUMN clip_bytes INTEGER;
CREATE INDEX visits_frames ON visits(verdict > 0, seq) WHERE frame_bytes > 0 OR clip_bytes > 0;
)";

// The predictions that a visit rests on: they go with it. answer: JSON of the API.
constexpr std::string_view kPredictions = R"(
CREATE TABLE predictions(id TEXT PRIMARY KEY, seq INTEGER NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX predictions_visit ON predictions(seq);
CREATE TRIGGER predictions_go AFTER DELETE ON visits BEGIN DELETE FROM predictions WHERE seq = old.seq; END;
)";

// How many of its species were seen at once, and where in its best picture it was, in shares of it: NULL is not known.
constexpr std::string_view kSeveral = R"(
ALTER TABLE visits ADD COLUMN individuals INTEGER NOT NULL DEFAULT 1;
ALTER TABLE visits ADD COLUMN box_x REAL;
ALTER TABLE visits ADD COLUMN box_y REAL;
ALTER TABLE visits ADD COLUMN box_width REAL;
ALTER TABLE visits ADD COLUMN box_height REAL;
)";

// What a person called a bird that nobody else has a name for. No index: it would read all visits, and an update would
// end at the first page that cannot be read.
constexpr std::string_view kTyped = R"(
ALTER TABLE visits ADD COLUMN review_name TEXT NOT NULL DEFAULT '';
)";

constexpr Step kSteps[] = {{1, kVisits},      {2, kThroughput}, {3, kPictures},
                           {4, kPredictions}, {5, kSeveral},    {6, kTyped}};

Result<std::int64_t> version_of(Database& database, std::span<const Step> steps) {
  const std::int64_t version = KINGLET_TRY(database.integer_of("PRAGMA user_version"));
  const std::int64_t application = KINGLET_TRY(database.integer_of("PRAGMA application_id"));
  const std::int64_t tables = KINGLET_TRY(database.integer_of("SELECT count(*) FROM sqlite_schema"));
  if (application != kApplicationId && (tables > 0 || version != 0)) {
    return fail(ErrorCode::kUnsupported, "the database was not made by kinglet", {}, "choose another folder");
  }
  if (version > steps.back().version || version < 0) {
    return fail(
        ErrorCode::kUnsupported,
        format_text("the database has version {}, this program knows versions up to {}", version, steps.back().version),
        {}, "install the newer kinglet again, or choose another folder");
  }
  return version;
}

}  // namespace

std::span<const Step> schema_steps() { return kSteps; }

Result<void> migrate(Database& database, std::span<const Step> steps) {
  const std::int64_t version = KINGLET_TRY(version_of(database, steps));
  for (const Step& step : steps) {
    if (step.version <= version) continue;
    const std::string sql =
        format_text("{}; PRAGMA application_id = {}; PRAGMA user_version = {}", step.sql, kApplicationId, step.version);
    KINGLET_TRY(in_transaction(database, [&] { return database.execute(sql); }));
  }
  return {};
}

Result<bool> is_newest(Database& database) {
  return KINGLET_TRY(version_of(database, kSteps)) == schema_steps().back().version;
}

}  // namespace kinglet::store
