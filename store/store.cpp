// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <pthread.h>

#include <algorithm>
#include <future>
#include <random>
#include <stop_token>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::store {
namespace {

constexpr std::size_t kCommands = 32;
constexpr std::size_t kJobs = 8;                   // not begun: each may hold the pixels of a frame
constexpr std::size_t kJobsInSteps = 4;            // begun: each may hold a clip, and what was made of it
constexpr std::size_t kErasedRemembered = 10'000;  // ids begin with their time: the oldest are forgotten first
constexpr auto kPatience = std::chrono::seconds(15);

}  // namespace

visits::BookedVisit booked(VisitView view) {
  const PictureSizes& pictures = view.row.pictures;
  return {.visit = std::move(view.row.visit),
          .count_today = static_cast<std::uint32_t>(view.count_today),
          .first_today = view.first_today,
          .first_ever = view.first_ever,
          .change = view.row.change,
          .has_crop = pictures.crop.value_or(0) > 0,
          .has_frame = pictures.frame.value_or(0) > 0,
          .has_clip = pictures.clip.value_or(0) > 0};
}

Store::Store(StoreOptions options)
    : boot_tag_(format_text("{:08x}", std::random_device{}())), shared_(std::move(options)), writer_(shared_) {
  writer_.open();
  refresh_reader();
  thread_ = std::jthread([this](const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), shared_.pulse.name().c_str());
    work(stop);
    shared_.pulse.rest();
  });
}

Store::~Store() { finish(); }

void Store::begin_finish() {
  thread_.request_stop();
  queue_changed_.notify_all();
}

void Store::finish() {
  begin_finish();
  if (thread_.joinable()) thread_.join();
}

void Store::work(const std::stop_token& stop) {
  // Also while the writer is at long work.
  const auto stopping = [&] {
    shared_.pulse.beat();
    if (!stop.stop_requested()) (void)make_pictures(stop);
    return stop.stop_requested();
  };
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(queue_mutex_);
    queue_changed_.notify_all();
  });
  SteadyTime next = SteadyClock::now();
  while (!stopping()) {
    if (SteadyClock::now() >= next) {
      writer_.tend(stopping);
      refresh_reader();
      next = writer_.next_turn();
    }
    run_commands();
    shared_.pulse.beat(next - SteadyClock::now());
    MutexLock lock(queue_mutex_);
    while (!stop.stop_requested() && commands_.empty() && jobs_.empty()) {
      if (queue_changed_.wait_until(queue_mutex_, next) == std::cv_status::timeout) break;
    }
  }
  (void)make_pictures(stop);
  run_commands();
  writer_.finish();
  MutexLock lock(queue_mutex_);
  ended_ = true;
  commands_.clear();  // their promises are broken, which wakes who waits
}

// At least one. Then visits do not wait for all of them.
void Store::run_commands() {
  for (bool first = true; first || SteadyClock::now() < writer_.next_turn(); first = false) {
    std::function<void()> command;
    {
      MutexLock lock(queue_mutex_);
      if (commands_.empty()) return;
      command = std::move(commands_.front());
      commands_.pop_front();
    }
    shared_.pulse.beat();
    command();
  }
}

// Those that have begun are the first, in the order in which they did.
bool Store::make_pictures(const std::stop_token& stop) {
  bool has_gone_on = false;
  for (std::size_t at = 0;;) {
    Job job;
    Hurry hurry = Hurry::kNo;
    {
      MutexLock lock(queue_mutex_);
      const auto begun = static_cast<std::size_t>(std::ranges::count(jobs_, true, &Job::begun));
      const bool ends = stop.stop_requested();
      if (has_gone_on && !ends) at = std::max(at, begun);
      if (at >= jobs_.size()) return !jobs_.empty();
      if (ends || (!jobs_[at].begun && begun >= kJobsInSteps)) hurry = Hurry::kYes;
      has_gone_on = has_gone_on || jobs_[at].begun;
      job = std::move(jobs_[at]);
      jobs_[at].begun = job.begun = true;
    }
    shared_.pulse.beat();
    Result<std::optional<Pictures>> pictures = job.make(hurry);
    const bool has_more = hurry == Hurry::kNo && pictures && !*pictures;
    if (!has_more) finish_job(job, std::move(pictures));
    // Its place is still its own: others only come behind.
    MutexLock lock(queue_mutex_);
    const auto place = jobs_.begin() + static_cast<std::ptrdiff_t>(at);
    if (has_more) {
      *place = std::move(job);
      ++at;
    } else {
      jobs_.erase(place);
    }
  }
}

void Store::finish_job(Job& job, Result<std::optional<Pictures>> pictures) {
  if (pictures && *pictures) {
    writer_.add_pictures(shared_.sequence.on_disk(job.seq), **std::move(pictures));
    if (job.made) job.made();
    return;
  }
  ++shared_.dropped;
  if (!pictures) shared_.say(LogLevel::kWarning, "store: no picture of a visit: " + describe(pictures.error()));
}

// Another large one has room as well, because visitors may leave together.
std::uint64_t Store::clip_bytes() const {
  const std::uint64_t room = shared_.room_for_clips;
  if (room == 0) return 0;
  return std::max<std::uint64_t>(1, (room - std::min(room, shared_.pending.picture_bytes())) / 2);
}

void Store::put(const visits::Visit& visit) {
  VisitRow row{.visit = visit};
  row.visit.review = {};
  row.began = shared_.options.zone.local_hour(visit.started_at);
  MutexLock lock(shared_.intake);
  if (erased_.contains(visit.id)) return;
  shared_.sequence.note(visit.seq);
  row.visit.seq = shared_.sequence.on_disk(visit.seq);
  row.change = ++shared_.change;
  shared_.dropped += shared_.pending.put(std::move(row));
}

void Store::add_pictures(std::uint64_t seq, MakePictures make, std::move_only_function<void()> made) {
  auto at_once = [make = std::move(make)](Hurry) mutable -> Result<std::optional<Pictures>> {
    return KINGLET_TRY(make());
  };
  add_pictures_in_steps(seq, std::move(at_once), std::move(made));
}

void Store::add_pictures_in_steps(std::uint64_t seq, MakeInSteps make, std::move_only_function<void()> made) {
  {
    MutexLock lock(queue_mutex_);
    const auto begun = static_cast<std::size_t>(std::ranges::count(jobs_, true, &Job::begun));
    if (jobs_.size() - begun >= kJobs || ended_) {
      ++shared_.dropped;
      return;
    }
    jobs_.push_back({seq, std::move(make), std::move(made)});
  }
  queue_changed_.notify_all();
}

template <typename T>
Result<T> Store::on_thread(std::function<Result<T>()> body) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> answer = promise->get_future();
  {
    MutexLock lock(queue_mutex_);
    if (commands_.size() >= kCommands || ended_) return fail(ErrorCode::kBusy, "too many changes are waiting");
    commands_.emplace_back([promise, run = std::move(body)] { promise->set_value(run()); });
  }
  promise.reset();
  queue_changed_.notify_all();
  if (answer.wait_for(kPatience) != std::future_status::ready) {
    return fail(ErrorCode::kBusy, "the disk is too slow", shared_.options.folder.string(), "try again");
  }
  try {
    return answer.get();
  } catch (const std::future_error&) {
    return fail(ErrorCode::kBusy, "the store is ending");
  }
}

Result<ReviewResult> Store::review(std::string_view id, const visits::Review& review,
                                   std::optional<std::uint64_t> expected_change) {
  return on_thread<ReviewResult>(
      [this, id = std::string(id), review, expected_change] { return review_now(id, review, expected_change); });
}

Result<ReviewResult> Store::review_now(const std::string& id, const visits::Review& review,
                                       std::optional<std::uint64_t> expected_change) {
  std::optional<VisitView> seen = KINGLET_TRY(visit(id));
  if (!seen) return ReviewResult{};
  if (expected_change && seen->row.change != *expected_change) return ReviewResult{Changing::kStale, std::move(seen)};
  if (!KINGLET_TRY(writer_.review(seen->row, review, shared_.change + 1))) return ReviewResult{};
  ++shared_.change;
  seen = KINGLET_TRY(visit(id));
  if (!seen) return ReviewResult{};
  return ReviewResult{Changing::kDone, std::move(seen)};
}

Result<Changing> Store::erase(std::string_view id, std::optional<std::uint64_t> expected_change) {
  return on_thread<Changing>([this, id = std::string(id), expected_change] { return erase_now(id, expected_change); });
}

Result<Changing> Store::erase_now(const std::string& id, std::optional<std::uint64_t> expected_change) {
  const std::optional<VisitView> seen = KINGLET_TRY(visit(id));
  if (!seen) return Changing::kNotFound;
  if (expected_change && seen->row.change != *expected_change) return Changing::kStale;
  {
    MutexLock lock(shared_.intake);
    erased_.insert(id);
    if (erased_.size() > kErasedRemembered) erased_.erase(erased_.begin());
  }
  ++shared_.change;
  const Result<bool> erased = writer_.erase(id);
  if (erased) return *erased ? Changing::kDone : Changing::kNotFound;
  MutexLock lock(shared_.intake);
  erased_.erase(id);
  return std::unexpected(erased.error());
}

Result<void> Store::flush() {
  return on_thread<void>([this]() -> Result<void> {
    while (make_pictures(thread_.get_stop_token())) {
    }
    writer_.retain_at_once();
    writer_.tend([] { return false; });
    refresh_reader();
    return {};
  });
}

// A reader that is open already can read from a disk that has become full, where none could be opened.
void Store::refresh_reader() {
  MutexLock lock(reader_mutex_);
  if (prepare_reader()) look_at_days();
}

// The days before today change once a day; the number of their visits is small as long as they are counted.
void Store::look_at_days() {
  std::string today = shared_.options.zone.local_hour(shared_.options.now()).day;
  if (today == looked_on_) return;
  const Result<bool> known = reader_->knows_birds(today);
  if (!known) return;
  shared_.knows_birds = *known;
  looked_on_ = std::move(today);
}

std::optional<Queries> Store::open_reader() const {
  const std::filesystem::path file = database_file(shared_.options.folder);
  Result<Queries> opened = Queries::open(file, shared_.vfs.name());
  if (!opened && !shared_.writable) opened = Queries::open_unwritable(file);
  return opened ? std::optional(std::move(*opened)) : std::nullopt;
}

Result<void> Store::prepare_reader() {
  const std::uint64_t generation = shared_.generation;
  if (!reader_ || reader_generation_ != generation) {
    reader_.reset();
    counted_at_ = ~0ULL;
    if (shared_.readable) reader_ = open_reader();
    if (!reader_) reader_ = KINGLET_TRY(Queries::in_memory());
    reader_->call_first_after(shared_.options.first_days);
    reader_generation_ = generation;
  }
  return reader_->show(shared_.pending.all());
}

template <typename T>
Result<T> Store::ask(const std::function<Result<T>(Queries&)>& question) {
  MutexLock lock(reader_mutex_);
  KINGLET_TRY(prepare_reader());
  Result<T> answer = question(*reader_);
  if (!answer && answer.error().code != ErrorCode::kBusy) {
    reader_.reset();
    shared_.suspicion = answer.error().code == ErrorCode::kBadData;
  }
  return answer;
}

Result<VisitPage> Store::visits(const visits::VisitQuery& query) {
  return ask<VisitPage>([&](Queries& reader) { return reader.visits(query); });
}

Result<std::optional<VisitView>> Store::visit(std::string_view id) {
  return ask<std::optional<VisitView>>([&](Queries& reader) { return reader.visit(id); });
}

Result<std::optional<std::string>> Store::prediction(std::string_view id) {
  if (std::optional<std::string> waiting = shared_.pending.prediction(id)) return waiting;
  return ask<std::optional<std::string>>([&](Queries& reader) { return reader.prediction(id); });
}

Result<std::vector<SpeciesSeen>> Store::species() {
  return ask<std::vector<SpeciesSeen>>([](Queries& reader) { return reader.species(); });
}

Result<std::vector<SpeciesSeen>> Store::species_between(WallTime since, WallTime until) {
  return ask<std::vector<SpeciesSeen>>([&](Queries& reader) { return reader.species_between(since, until); });
}

Result<SpeciesDetail> Store::species_detail(const std::string& species_id) {
  return ask<SpeciesDetail>([&](Queries& reader) { return reader.species_detail(species_id); });
}

Result<std::vector<DayTotal>> Store::days(std::string_view from, std::string_view to) {
  return ask<std::vector<DayTotal>>([&](Queries& reader) { return reader.days(from, to); });
}

Result<std::vector<SpeciesHours>> Store::day(std::string_view day) {
  return ask<std::vector<SpeciesHours>>([&](Queries& reader) { return reader.day(day); });
}

Result<ThroughputPage> Store::throughput(WallTime since, WallTime until, std::size_t limit) {
  // What waits first: what is written meanwhile is then seen twice, not never.
  std::vector<Throughput> items = shared_.throughput.all().spans;
  std::erase_if(items, [&](const Throughput& span) { return span.at < since || span.at >= until; });
  std::ranges::reverse(items);
  ThroughputPage written =
      KINGLET_TRY(ask<ThroughputPage>([&](Queries& reader) { return reader.throughput(since, until, limit); }));
  std::erase_if(written.items, [&](const Throughput& span) { return std::ranges::contains(items, span); });
  items.insert(items.end(), written.items.begin(), written.items.end());
  ThroughputPage page{.items = std::move(items), .has_more = written.has_more};
  if (page.items.size() > limit) {
    page.items.resize(limit);
    page.has_more = true;
  }
  return page;
}

visits::VisitBook Store::book() {
  const auto list = [this](const visits::VisitQuery& query) -> Result<visits::VisitPage> {
    VisitPage found = KINGLET_TRY(visits(query));
    visits::VisitPage page{.items = {}, .has_more = found.has_more};
    for (VisitView& view : found.items) page.items.push_back(booked(std::move(view)));
    return page;
  };
  const auto find = [this](std::string_view id) -> Result<std::optional<visits::BookedVisit>> {
    std::optional<VisitView> found = KINGLET_TRY(visit(id));
    if (!found) return std::nullopt;
    return booked(std::move(*found));
  };
  return {.list = list, .find = find};
}

Result<std::string> Store::picture(std::string_view id, Picture kind) {
  const std::optional<VisitView> seen = KINGLET_TRY(visit(id));
  if (!seen) return fail(ErrorCode::kNotFound, "there is no such visit");
  const std::optional<std::uint64_t>& size = size_of(seen->row.pictures, kind);
  if (!size) return fail(ErrorCode::kNotFound, "there is no such picture of this visit");
  const Error gone{ErrorCode::kUnavailable, "the picture is no longer kept", {}, {}};
  if (*size == 0) return std::unexpected(gone);
  if (const Pending::Entry entry = shared_.pending.find(id); entry && entry->pictures) {
    if (const SharedBytes& bytes = bytes_of(*entry->pictures, kind); !bytes.empty()) return bytes.joined();
  }
  Result<std::string> bytes = shared_.files.read(seen->row.visit.id, kind);
  if (!bytes && bytes.error().code == ErrorCode::kNotFound) return std::unexpected(gone);
  return bytes;
}

StoreStatus Store::brief() const {
  StoreStatus status;
  shared_.fill(status);
  return status;
}

StoreStatus Store::status() {
  StoreStatus status = brief();
  const std::uint64_t change = shared_.change;
  MutexLock lock(reader_mutex_);
  if (counted_at_ != change && prepare_reader()) {
    if (const Result<std::uint64_t> count = reader_->visit_count()) {
      visit_count_ = *count;
      counted_at_ = change;
    }
  }
  status.visits = visit_count_;
  return status;
}

}  // namespace kinglet::store
